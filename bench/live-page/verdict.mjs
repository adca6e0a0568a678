// What the figures are worth, and how they are told. Pure.

import { againstNoise, median, noiseOf, pairedShift, quantile } from "./statistics.mjs";

/** The main thread may be busy for so much of the time. */
export const BUSY_LIMIT = 0.3;
/** Flat: in ten minutes the heap grows by less than this part of itself. */
export const GROWTH_LIMIT = 0.1;

const mib = (bytes) => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
const percent = (share) => `${(share * 100).toFixed(1)} %`;

/** What one page's figures say. */
export function judgePage({ looks, slope, wrong }, seconds) {
  const busy = looks.reduce((sum, { busy }) => sum + busy, 0) / looks.length;
  const heap = median(looks.map(({ heap }) => heap));
  const growth =
    slope === null ? null : { low: (slope.low * 600) / heap, high: (slope.high * 600) / heap };
  let memory = "not resolved";
  if (growth !== null && growth.high < GROWTH_LIMIT) memory = "flat";
  else if (growth !== null && growth.low >= GROWTH_LIMIT) memory = "grows";
  const right = wrong.length === 0;
  const failed = busy >= BUSY_LIMIT || memory === "grows" || !right;
  const code = failed ? 1 : memory === "flat" ? 0 : 3;
  return { busy, memory, growth, right, seconds, code };
}

/** A page's figures as text. */
export function pageTable(plan, measured, verdict) {
  const { looks, processors, wrong } = measured;
  const of = (name) => looks.map((one) => one[name]);
  const most = (name) => Math.max(...of(name));
  const { rate, lanes } = plan.pipeline;
  const { growth } = verdict;
  const processes = Object.entries(processors).map(([kind, share]) => `${kind} ${percent(share)}`);
  const lines = [
    `one page for ${plan.seconds} s, ${rate} messages a second in ${lanes} lanes`,
    "",
    `main thread    busy ${percent(verdict.busy)} (worst of ${looks.length} intervals ${percent(most("busy"))}), ` +
      `on a processor ${percent(median(of("cpu")))}, script ${percent(median(of("script")))}, layout ${percent(median(of("layout")))}`,
    `JS heap        ${mib(looks[0].heap)} at first, ${mib(looks.at(-1).heap)} at last, at most ${mib(most("heap"))}; ` +
      `${looks.at(-1).nodes} nodes`,
    growth === null
      ? "heap's slope   too few intervals"
      : `heap's slope   ${percent(growth.low)} to ${percent(growth.high)} in 10 minutes (95 %; the first quarter apart)`,
    `processors     ${processes.join(", ")}`,
  ];
  for (const {
    client,
    offered,
    frames_sent,
    frames_dropped,
    acked,
    unrecorded,
  } of measured.clients ?? []) {
    lines.push(
      `page           ${client.slice(0, 8)}: ${offered} offered, ${frames_sent} sent, ${frames_dropped} dropped, ` +
        `${acked} acknowledged, ${unrecorded ?? 0} of them not recorded`,
    );
  }
  for (const [name, { published, delivered }] of Object.entries(measured.ledgers)) {
    lines.push(`${name.padEnd(14)} ${published} published, ${delivered} delivered`);
  }
  for (const [name, legs] of Object.entries(measured.legs)) {
    const told = ["push", "paint"].filter((leg) => legs[leg] !== undefined);
    const texts = told.map(
      (leg) =>
        `${leg} P50 ${(legs[leg].p50_ns / 1e6).toFixed(2)} ms, P99 ${(legs[leg].p99_ns / 1e6).toFixed(2)} ms`,
    );
    if (texts.length > 0) lines.push(`${name.padEnd(14)} ${texts.join("; ")}`);
  }
  lines.push("");
  const met = (good) => (good ? "met" : "MISSED");
  lines.push(`busy below ${percent(BUSY_LIMIT)}: ${met(verdict.busy < BUSY_LIMIT)}`);
  lines.push(`memory flat (less than ${percent(GROWTH_LIMIT)} in 10 minutes): ${verdict.memory}`);
  lines.push(`figures right: ${met(verdict.right)}`);
  return [...lines, ...wrong.slice(0, 10).map((text) => `  ${text}`)].join("\n");
}

/**
 * Each number of pages against none, over blocks.
 *
 * @param {{block: number, name: string, n: number, p50_us: number}[]} cells
 * @param {string[]} counts
 */
export function compared(cells, counts) {
  const of = (name) => cells.filter((cell) => cell.name === name).sort((a, b) => a.block - b.block);
  const values = (name) => of(name).map((cell) => cell.p50_us);
  const none = values("0");
  const less = (name) => values(name).map((value, index) => value - none[index]);
  const control = less("control");
  const noise = noiseOf(control);
  const rows = counts.map((name) => {
    const shift = pairedShift(less(name));
    return { name, p50_us: median(values(name)), shift, verdict: againstNoise(shift, noise) };
  });
  const verdicts = rows.map((row) => row.verdict);
  const code = verdicts.includes("more") ? 1 : verdicts.every((v) => v === "less") ? 0 : 3;
  return { none_us: median(none), noise_us: noise, control: pairedShift(control), rows, code };
}

/** The comparison as text. */
export function pagesTable(plan, measured, { none_us, noise_us, control, rows }) {
  const { rate, lanes } = plan.pipeline;
  const of = ({ estimate, low, high }) => {
    const digits = (value) => `${value >= 0 ? "+" : ""}${value.toFixed(1)}`;
    return low === null
      ? `${digits(estimate)} [no interval]`
      : `${digits(estimate)} [${digits(low)}, ${digits(high)}]`;
  };
  const least = Math.min(...measured.cells.map(({ n }) => n));
  const p99 = (name) =>
    quantile(
      measured.cells.filter((cell) => cell.name === name).map((cell) => cell.p99_us),
      0.5,
    );
  const line = (name, p50, p99_us, shift, said) =>
    `${name.padEnd(10)}${p50.toFixed(1).padStart(12)}${p99_us.toFixed(1).padStart(12)}${shift.padStart(28)}  ${said}`;
  return [
    `${plan.blocks} blocks of ${plan.blockSeconds} s a condition in drawn order (seed ${plan.seed}), ${rate} messages a second in ${lanes} lanes`,
    plan.feeds ? "pages: their sockets, without browsers" : `pages: in Chromium, nice ${plan.nice}`,
    "",
    `${"pages".padEnd(10)}${"p50, us".padStart(12)}${"p99, us".padStart(12)}${"p50 less that of none".padStart(28)}  than the noise`,
    line("0", none_us, p99("0"), "", ""),
    line("0 again", none_us + control.estimate, p99("control"), of(control), ""),
    ...rows.map(({ name, p50_us, shift, verdict }) =>
      line(name, p50_us, p99(name), of(shift), verdict),
    ),
    "",
    `taken → web_acked, n ≥ ${least} a cell; 95 % intervals over blocks; noise: ±${noise_us.toFixed(1)} us, what none and none again differ by`,
    ...measured.faults.map((text) => `DOES NOT ADD UP: ${text}`),
  ].join("\n");
}
