import { expect, test } from "vitest";
import { COLOURS, colour, dash, TONES } from "../../src/chart/tones";

type Rgb = readonly [number, number, number];

// Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB.
const EYES: Readonly<Record<string, readonly Rgb[]>> = {
  normal: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protan: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deutan: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritan: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};

// The page's sources know no Node: its types aren't here.
const module: string = "node:fs";
const { readFileSync } = (await import(module)) as {
  readFileSync: (path: URL, encoding: "utf8") => string;
};
const sheet = (name: string): string =>
  readFileSync(new URL(`../../src/style/${name}.css`, import.meta.url), "utf8");
const [base, css] = [sheet("base"), sheet("chart")];

/** All values of a custom property, in the order of the file: the light one, then the dark one. */
const values = (text: string, name: string): string[] =>
  [...text.matchAll(new RegExp(`${name}: (#[0-9a-f]{6});`, "g"))].map(([, value]) => value ?? "");

function linear(hex: string): Rgb {
  const of = (i: number): number => {
    const c = Number.parseInt(hex.slice(i, i + 2), 16) / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  };
  return [of(1), of(3), of(5)];
}

function dot(row: Rgb, [r, g, b]: Rgb): number {
  return row[0] * r + row[1] * g + row[2] * b;
}

function oklab(rgb: Rgb): Rgb {
  const [r, g, b] = rgb.map((c) => Math.min(1, Math.max(0, c))) as unknown as Rgb;
  const l = Math.cbrt(dot([0.4122214708, 0.5363325363, 0.0514459929], [r, g, b]));
  const m = Math.cbrt(dot([0.2119034982, 0.6806995451, 0.1073969566], [r, g, b]));
  const s = Math.cbrt(dot([0.0883024619, 0.2817188376, 0.6299787005], [r, g, b]));
  return [
    dot([0.2104542553, 0.793617785, -0.0040720468], [l, m, s]),
    dot([1.9779984951, -2.428592205, 0.4505937099], [l, m, s]),
    dot([0.0259040371, 0.7827717662, -0.808675766], [l, m, s]),
  ];
}

function seen(hex: string, eye: readonly Rgb[]): Rgb {
  const rgb = linear(hex);
  return oklab(eye.map((row) => dot(row, rgb)) as unknown as Rgb);
}

function contrast(a: string, b: string): number {
  const light = (hex: string): number => dot([0.2126, 0.7152, 0.0722], linear(hex)) + 0.05;
  const ratio = light(a) / light(b);
  return Math.max(ratio, 1 / ratio);
}

test.each([0, 1])(
  "every eye can tell the tones apart and from the panel (%i: light, dark)",
  (theme) => {
    const ground = values(base, "--panel")[theme] ?? "";
    const tones = Array.from(
      { length: COLOURS },
      (_, i) => values(css, `--tone-${i}`)[theme] ?? "",
    );
    for (const [i, a] of tones.entries()) {
      expect(contrast(a, ground), `${a} on ${ground}`).toBeGreaterThanOrEqual(3);
      for (const b of tones.slice(i + 1)) {
        for (const [name, eye] of Object.entries(EYES)) {
          const [p, q] = [seen(a, eye), seen(b, eye)];
          const apart = Math.hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2]);
          expect(apart, `${a} and ${b}, ${name}`).toBeGreaterThan(0.14);
        }
      }
    }
  },
);

test("no two of the tones have both colour and dash in common, neighbours have neither", () => {
  const look = (tone: number): string => `${colour(tone)} ${dash(tone).join(",")}`;
  const looks = Array.from({ length: TONES }, (_, tone) => look(tone));
  expect(new Set(looks).size).toBe(TONES);
  for (let tone = 1; tone < TONES; tone += 1) {
    expect(colour(tone)).not.toBe(colour(tone - 1));
    expect(dash(tone)).not.toEqual(dash(tone - 1));
  }
});
