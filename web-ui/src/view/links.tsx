// What other links would change on this very path, by the shadow probes.

import { computed } from "@preact/signals";
import { count, duration, durationText, NOTHING } from "../format";
import type { Shadow, ShadowLink } from "../generated/wire";
import { figures } from "../store";
import { figureWords } from "../words/figures";
import { panelWords as words } from "../words/panels";
import { explain, explainCell } from "./explain";
import { Figure } from "./figure";
import { Panel } from "./panel";

const SERVICES = { "ai,web": "both", ai: "ai_alone", web: "web_alone" } as const;

function services(stages: string): string {
  const known = Object.entries(SERVICES).find(([name]) => name === stages);
  return words(known?.[1] ?? "the_services");
}

const shadow = computed(() => figures.value?.shadow ?? null);

/** The panel. */
export function Links() {
  const probes = shadow.value;
  return (
    <Panel
      id="links"
      title={words("links")}
      term="probe"
      more={probes === null ? undefined : `${note(probes)} hopwatch compare.`}
    >
      {probes === null ? (
        <p class="quiet empty" data-testid="no-links">
          {words(figures.value === null ? "no_figures" : "no_links")}
        </p>
      ) : (
        <Table of={probes} />
      )}
    </Panel>
  );
}

/** What the figures are of. */
function note({ body_bytes: [least, most], rate_hz, stages, current }: Shadow): string {
  const bytes = least === most ? count(least) : `${count(least)}–${count(most)}`;
  return words("links_note", { rate: rate_hz, services: services(stages.join()), bytes, current });
}

function Table({ of: probes }: { of: Shadow }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section class="scroll" tabIndex={0} aria-label={words("links")} data-testid="links">
      <table>
        <thead>
          <tr>
            <th scope="col" {...explain("link")}>
              {words("link")}
            </th>
            <th scope="col" {...explain("change")}>
              {words("change")}
            </th>
            <th scope="col" class="interval" {...explain("ci")}>
              {words("interval")}
            </th>
            <th scope="col" {...explain("cost")}>
              P50
            </th>
            <th scope="col" {...explain("cost")}>
              P95
            </th>
            <th scope="col">{words("no_reply")}</th>
          </tr>
        </thead>
        <tbody>
          {probes.links.map((link) => (
            <Row key={link.link} of={link} shadow={probes} />
          ))}
        </tbody>
      </table>
      <p class="note">
        {note(probes)} <code>hopwatch compare</code>.
      </p>
    </section>
  );
}

function Row({ of, shadow: probes }: { of: ShadowLink; shadow: Shadow }) {
  const current = of.link === probes.current;
  const [lo, hi] = of.change_ci_ns;
  return (
    <tr data-testid="link" data-link={of.link} data-current={current}>
      <th scope="row">
        <bdi>{of.link}</bdi>
        {current && <small> {words("in_use")}</small>}
      </th>
      <td
        class="figure"
        data-testid={`link-${of.link}-change`}
        data-ns={of.change_ns}
        {...explainCell("change")}
      >
        {of.change_ns === null ? NOTHING : signed(of.change_ns)}
      </td>
      <td class="interval">
        {lo !== null && hi !== null
          ? `${signed(lo)} … ${signed(hi)}`
          : current
            ? NOTHING
            : words("none_at", { n: count(of.pairs) })}
      </td>
      <Cost ns={of.p50_ns} id={`link-${of.link}-p50`} />
      <Cost ns={of.p95_ns} id={`link-${of.link}-p95`} />
      <td class="figure" data-testid={`link-${of.link}-failed`} data-count={of.failed}>
        {of.failed === 0 ? "0" : words("of", { n: count(of.failed), all: count(of.probes) })}
      </td>
    </tr>
  );
}

/** What a round costs; lost, when too many miss a reply. */
function Cost({ ns, id }: { ns: number | "lost" | null; id: string }) {
  if (ns !== "lost") return <Figure ns={ns} id={id} term="cost" />;
  return (
    <td class="figure" data-testid={id} data-ns={ns}>
      {figureWords("lost")}
    </td>
  );
}

/** With its sign: a change of nothing has none. */
function signed(ns: number | "lost" | "current-lost"): string {
  if (ns === "lost") return figureWords("lost");
  if (ns === "current-lost") return words("current_lost");
  return ns > 0 && duration(ns).value !== NOTHING ? `+${durationText(ns)}` : durationText(ns);
}
