// What other links would change on this very path, by the shadow probes.

import { count, duration, durationText, NOTHING } from "../format";
import type { Shadow, ShadowLink } from "../generated/wire";
import { snapshot } from "../store";
import { Figure } from "./figure";

const SERVICES: Record<string, string> = {
  "ai,web": "both services",
  ai: "the AI service alone",
  web: "the web service alone",
};

/** The panel; nothing without probes. */
export function Links() {
  const shadow = snapshot.value?.shadow ?? null;
  if (shadow === null) return null;
  const [least, most] = shadow.body_bytes;
  return (
    <section class="panel links" aria-labelledby="links-title" data-testid="links">
      <h2 id="links-title">
        Other links <small>shadow probes, {shadow.rate_hz} a second</small>
      </h2>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
      <section class="scroll" tabIndex={0} aria-label="What other links would change">
        <table>
          <thead>
            <tr>
              <th scope="col">link</th>
              <th scope="col">P50</th>
              <th scope="col">P95</th>
              <th scope="col">change</th>
              <th scope="col" class="interval">
                its 95 % interval
              </th>
              <th scope="col">no reply</th>
            </tr>
          </thead>
          <tbody>
            {shadow.links.map((link) => (
              <Row key={link.link} of={link} shadow={shadow} />
            ))}
          </tbody>
        </table>
      </section>
      <p class="note">
        Requests to {SERVICES[shadow.stages.join()] ?? "the services"} with the body of a message (
        {count(least)}
        {least === most ? "" : ` to ${count(most)}`} bytes), without a service's own time. The
        change is against {shadow.current} within seconds; a request without a reply takes forever.
        A hint: the verdict comes of <code>hopwatch compare</code>.
      </p>
    </section>
  );
}

function Row({ of, shadow }: { of: ShadowLink; shadow: Shadow }) {
  const current = of.link === shadow.current;
  const [lo, hi] = of.change_ci_ns;
  return (
    <tr data-testid="link" data-link={of.link} data-current={current}>
      <th scope="row">
        <bdi>{of.link}</bdi>
        {current && <small> in use</small>}
      </th>
      <Cost ns={of.p50_ns} id={`link-${of.link}-p50`} />
      <Cost ns={of.p95_ns} id={`link-${of.link}-p95`} />
      <td class="figure" data-testid={`link-${of.link}-change`} data-ns={of.change_ns}>
        {of.change_ns === null ? NOTHING : signed(of.change_ns)}
      </td>
      <td class="interval">
        {lo !== null && hi !== null
          ? `${signed(lo)} … ${signed(hi)}`
          : current
            ? NOTHING
            : `none at n\u00a0=\u00a0${count(of.pairs)}`}
      </td>
      <td class="figure" data-testid={`link-${of.link}-failed`} data-count={of.failed}>
        {of.failed === 0 ? "0" : `${count(of.failed)} of ${count(of.probes)}`}
      </td>
    </tr>
  );
}

/** What a round costs; lost, when too many miss a reply. */
function Cost({ ns, id }: { ns: number | "lost" | null; id: string }) {
  if (ns !== "lost") return <Figure ns={ns} id={id} />;
  return (
    <td class="figure" data-testid={id} data-ns={ns}>
      lost
    </td>
  );
}

/** With its sign: a change of nothing has none. */
function signed(ns: number | "lost" | "current-lost"): string {
  if (ns === "lost") return "lost";
  if (ns === "current-lost") return "the one in use is lost";
  return ns > 0 && duration(ns).value !== NOTHING ? `+${durationText(ns)}` : durationText(ns);
}
