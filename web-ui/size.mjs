// Keeps the page small: all its JavaScript, gzipped, stays below the budget.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

const BUDGET_BYTES = 120_000;
const folder = new URL("dist/assets/", import.meta.url);
if (!existsSync(folder)) {
  console.error("there is no page yet: npm run build");
  process.exit(1);
}
const sizes = readdirSync(folder).map((name) => ({
  name,
  bytes: gzipSync(readFileSync(new URL(name, folder)), { level: 9 }).length,
}));
for (const { name, bytes } of sizes) console.log(`${name}: ${bytes} bytes gzipped`);
if (sizes.some(({ name }) => name.endsWith(".map"))) {
  console.error("dist holds source maps");
  process.exit(1);
}
const script = sizes.filter(({ name }) => name.endsWith(".js"));
const total = script.reduce((sum, { bytes }) => sum + bytes, 0);
if (script.length === 0 || total > BUDGET_BYTES) {
  console.error(`JavaScript: ${total} bytes gzipped, budget ${BUDGET_BYTES}`);
  process.exit(1);
}
console.log(`JavaScript: ${total} of ${BUDGET_BYTES} bytes gzipped`);
