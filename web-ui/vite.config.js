import { defineConfig } from "vite";

export default defineConfig({
  // The JSX of Preact, without a plug-in: the compiler reads it from tsconfig.json.
  build: {
    target: "es2022",
    sourcemap: false,
    // Everything is a file of its own: the page's Content-Security-Policy allows no inline code.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  // `npm run dev` shows the page of the sources with the services of a running Hopwatch.
  server: {
    host: "127.0.0.1",
    port: 3030,
    strictPort: true,
    proxy: { "/config.json": "http://127.0.0.1:3000" },
  },
  test: { include: ["test/**/*.test.ts"], environment: "node" },
});
