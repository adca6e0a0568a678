// The five answers at the top: what must be seen within five seconds.

import { computed } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { tickText } from "../chart/ticks";
import { clip, count, duration, durationText, NOTHING, percent } from "../format";
import type { Check, LaneView } from "../generated/wire";
import {
  aiIncludesTransport,
  boundOf,
  type Difference,
  delivery,
  difference,
  found,
  isSure,
  losses,
  pairOf,
  reliability,
  shares,
  used,
  weakestSource,
  worst,
} from "../judge";
import { figures, lane, lanes } from "../store";
import { answerWords as words } from "../words/answers";
import { className, decisionName, fateName, quantityName, sourceName } from "../words/names";
import type { Term } from "../words/terms";
import { Coded } from "./coded";
import { explain } from "./explain";

/** All five. */
export function Answers() {
  return (
    <section class="answers" aria-label={words("answers")} data-testid="answers">
      <Total />
      <Where />
      <Lost />
      <Qos />
      <Http />
    </section>
  );
}

type Tone = "good" | "bad" | "warn" | "plain" | "none";

interface CardProps {
  id: string;
  term: Term;
  title: string;
  tone: Tone;
  /** What is judged, beside the title. */
  aside?: string | undefined;
  children: ComponentChildren;
}

const SIGNS: Readonly<Record<Tone, string>> = {
  good: "✓",
  bad: "✗",
  warn: "!",
  plain: "",
  none: "",
};

function Card({ id, term, title, tone, aside, children }: CardProps) {
  return (
    <article class="panel answer-card" data-tone={tone} data-testid={`answer-${id}`}>
      <h2>
        <span class="sign" aria-hidden="true">
          {SIGNS[tone]}
        </span>
        <span {...explain(term)}>{title}</span>
        {aside !== undefined && <strong class="judged"> {aside}</strong>}
      </h2>
      {children}
    </article>
  );
}

function Empty({ children }: { children: ComponentChildren }) {
  return <p class="quiet">{children}</p>;
}

const budget = computed(() => figures.value?.budget ?? null);

function Total() {
  const report = budget.value;
  const checks = report === null ? [] : worst(report);
  // Nothing measured doesn't hold, but before the first message it isn't missed either.
  const early = checks.every((check) => found(check) === "none");
  const unstable = lanes.value.find(({ stability }) => stability.unstable);
  const sure = report !== null && isSure(report, lanes.value);
  const tone: Tone =
    unstable !== undefined
      ? "warn"
      : report === null || early
        ? "none"
        : report.passed
          ? sure
            ? "good"
            : "warn"
          : "bad";
  const judged = { good: "holds", bad: "missed", warn: "unsure" } as const;
  const said =
    unstable === undefined && tone in judged ? judged[tone as keyof typeof judged] : null;
  return (
    <Card
      id="total"
      term="budget"
      title={words("total")}
      tone={tone}
      aside={said === null ? undefined : words(said)}
    >
      {lane.value === null ? (
        <Empty>{words("none")}</Empty>
      ) : unstable === undefined && early ? (
        <Empty>{words(checks.length === 0 ? "no_budget" : "nothing_measured")}</Empty>
      ) : unstable === undefined ? (
        <>
          <Headline check={checks.find(({ quantity }) => quantity === "p99_total")} />
          <Bars checks={checks} />
        </>
      ) : (
        <>
          <p class="headline" data-testid="headline-total">
            {words("unstable")} <small>{clip(unstable.name, 40)}</small>
          </p>
          <p class="fine-print" lang="en">
            {clip(unstable.stability.reason, 160)}
          </p>
        </>
      )}
    </Card>
  );
}

/** The P99 that stands worst, as the budget judges it: the figure and its judgement are of one lane. */
function Headline({ check }: { check: Check | undefined }) {
  if (check === undefined) return null;
  const ns = check.measured_value;
  const of = lanes.value.find(({ name }) => name === check.lane);
  const { value: figure, unit } = ns === null ? { value: value(check), unit: "" } : duration(ns);
  return (
    <p class="headline" data-testid="headline-total">
      <span data-testid="total-p99" data-ns={ns ?? undefined} data-lane={check.lane}>
        <small>P99</small> {figure}
        {unit !== "" && <small>&thinsp;{unit}</small>}
      </span>{" "}
      <small>
        {words("limit", { limit: limitText(check) })} ·{" "}
        {words("n", { n: count(of?.classes["total"]?.n ?? 0) })}
        {lanes.value.length > 1 && (
          <>
            {" · "}
            <bdi>{clip(check.lane, 24)}</bdi>
          </>
        )}
      </small>
    </p>
  );
}

function Bars({ checks }: { checks: readonly Check[] }) {
  const several = lanes.value.length > 1;
  return (
    <ul class="budget" data-testid="budget">
      {checks.map((check) => (
        <li
          key={check.quantity}
          data-testid={`budget-${check.quantity}`}
          data-passed={check.passed}
          data-lane={check.lane}
          {...explain(TERMS[check.quantity], measured(check))}
        >
          <span class="name">
            {quantityName(check.quantity) ?? check.name}
            {several && !check.passed && <bdi> {check.lane}</bdi>}
          </span>
          <BudgetBar check={check} />
          <span class="value">
            <b>{value(check)}</b> {check.quantity === "delivered" ? "≥" : "/"}&nbsp;
            {limitText(check)}
          </span>
        </li>
      ))}
    </ul>
  );
}

/** A limit on what is delivered counts otherwise than the share that the page shows elsewhere. */
const TERMS = {
  mean_total: "mean_total",
  mean_communication: "mean_communication",
  p99_total: "p99_total",
  delivered: "delivered_budget",
} as const;

const text = (check: Check, of: number): string =>
  check.quantity === "delivered" ? percent(of, 2) : durationText(of);
/** Limits are round numbers: 2 s, not 2.000 s. */
const limitText = (check: Check): string =>
  check.quantity === "delivered" ? percent(check.limit_value, 2) : tickText(check.limit_value);

function value(check: Check): string {
  const what = found(check);
  return what === "number" ? text(check, check.measured_value ?? 0) : words(`${what}_found`);
}

function measured(check: Check): string {
  const known =
    check.measured_value === null
      ? `${words("not_measured")} (${clip(check.measured, 80)})`
      : value(check);
  const limit = limitText(check);
  return `${check.lane}: ${known} ${words(check.quantity === "delivered" ? "at_least" : "limit", { limit })}`;
}

/** How much of the limit is used, on a scale where the limit stands at four fifths; lost: all of it. */
function BudgetBar({ check }: { check: Check }) {
  const share = found(check) === "lost" ? Number.POSITIVE_INFINITY : (used(check) ?? 0);
  const width = Math.min(1, share * 0.8) * 100;
  return (
    <svg class="budget-bar" width="100%" height="8" aria-hidden="true">
      <rect class="room" width="100%" height="8" rx="2" />
      <rect
        class={check.passed ? "fill" : "fill over"}
        width={`${width.toFixed(2)}%`}
        height="8"
        rx="2"
      />
      <line class="limit" x1="80%" x2="80%" y1="0" y2="8" />
    </svg>
  );
}

const PARTS = ["ai", "transport", "overhead"] as const;

function Where() {
  const looked = lane.value;
  const parts = looked === null ? null : shares(looked);
  const largest = parts && PARTS.reduce((a, b) => (parts[b] > parts[a] ? b : a));
  const together = looked !== null && aiIncludesTransport(looked);
  const name = (part: (typeof PARTS)[number]): string =>
    part === "ai" && together ? words("ai_includes") : (className(part) ?? part);
  return (
    <Card id="where" term="class" title={words("where")} tone={parts === null ? "none" : "plain"}>
      {looked === null || parts === null || largest === null ? (
        <Empty>{words("none")}</Empty>
      ) : (
        <>
          <p
            class="headline"
            data-testid="headline-where"
            data-class={largest}
            {...(largest === "ai" && together ? explain("ai_includes") : {})}
          >
            {name(largest)} {percent(parts[largest])}
          </p>
          <svg class="shares" width="100%" height="12" aria-hidden="true">
            {PARTS.map((part, i) => {
              const before = PARTS.slice(0, i).reduce((sum, one) => sum + parts[one], 0);
              return (
                <rect
                  key={part}
                  class={`leg ${part} shade0`}
                  x={`${(before * 100).toFixed(3)}%`}
                  width={`${(parts[part] * 100).toFixed(3)}%`}
                  height="12"
                />
              );
            })}
          </svg>
          <p class="fine-print">
            {PARTS.filter((part) => part !== largest).map((part) => (
              <span key={part} {...explain(part === "ai" && together ? "ai_includes" : part)}>
                {name(part)} {percent(parts[part])}{" "}
              </span>
            ))}
            <span class="quiet on">
              {words("of_mean", {
                total: durationText(looked.classes["total"]?.mean_ns ?? null),
              })}
            </span>
          </p>
        </>
      )}
    </Card>
  );
}

function Lost() {
  const all = lanes.value;
  const published = all.reduce((sum, { ledger }) => sum + ledger.published, 0);
  const of = all.reduce((sum, { ledger }) => sum + delivery(ledger).of, 0);
  const early = all.reduce((sum, { ledger }) => sum + ledger.lost_before_discovery, 0);
  const lost = new Map<string, number>();
  for (const { ledger } of all) {
    for (const [fate, n] of losses(ledger)) lost.set(fate, (lost.get(fate) ?? 0) + n);
  }
  const sum = [...lost.values()].reduce((a, b) => a + b, 0);
  const torn = all.find(({ ledger }) => !ledger.reconciles);
  const source = weakestSource(all);
  // Without the robots' own count there may be losses that nobody knows of.
  const counted = source === "census";
  const bad = sum > 0 || torn !== undefined;
  const tone: Tone = published === 0 ? "none" : bad ? "bad" : counted ? "good" : "plain";
  return (
    <Card id="lost" term="lost" title={words("lost")} tone={tone} aside={words("since_start")}>
      {published === 0 ? (
        <Empty>{words(all.length === 0 ? "none" : "no_published")}</Empty>
      ) : (
        <>
          <p class="headline" data-testid="headline-lost" data-count={sum}>
            {sum > 0
              ? words("lost_of", { lost: count(sum), published: count(of) })
              : words(counted ? "nothing_lost" : "none_known_lost")}
          </p>
          <p class="fine-print">
            {[...lost.entries()]
              .sort(([, a], [, b]) => b - a)
              .slice(0, 4)
              .map(([fate, n]) => (
                <span key={fate} class="bad">
                  {fateName(fate) ?? fate} {count(n)}{" "}
                </span>
              ))}
            {torn !== undefined && (
              <b class="warn" {...explain("ledger", torn.ledger.notes.join(" "))}>
                {words("does_not_reconcile")}{" "}
              </b>
            )}
            <span class="quiet">{words("share_delivered", { share: shareOf(all) })} </span>
            {!counted && (
              <span class="quiet" data-testid="lost-source" {...explain("published")}>
                {sourceName(source)}{" "}
              </span>
            )}
            {early > 0 && (
              <span class="quiet" data-testid="before-discovery" {...explain("before_discovery")}>
                {words("before_discovery", { n: count(early) })}
              </span>
            )}
          </p>
        </>
      )}
    </Card>
  );
}

function shareOf(all: readonly LaneView[]): string {
  const sums = all.map(({ ledger }) => delivery(ledger));
  const of = sums.reduce((sum, one) => sum + one.of, 0);
  const delivered = sums.reduce((sum, one) => sum + one.delivered, 0);
  return of > 0 ? percent(delivered / of, 2) : NOTHING;
}

function Qos() {
  const pair = pairOf(lanes.value);
  const seen = pair === null ? null : difference(...pair);
  const said = pair === null || seen === null ? [] : better(pair, seen);
  const shown = seen === null ? null : answerOf(seen, said.length > 0);
  return (
    <Card id="qos" term="qos" title={words("qos")} tone={pair === null ? "none" : "plain"}>
      {pair === null || shown === null ? (
        <Empty>{lanes.value.length === 0 ? words("none") : words("one_qos")}</Empty>
      ) : (
        <>
          <p class="headline" data-testid="headline-qos">
            {said.length > 0 ? said.join(", ") : words(HEADLINES[shown])}
          </p>
          <p class="fine-print">
            {pair.map((one) => (
              <span key={one.name}>
                <bdi>{reliability(one)}</bdi> P99{" "}
                {one.stability.unstable
                  ? words("unstable")
                  : durationText(one.classes["total"]?.p99_ns ?? null)}
                , {shareOf([one])}{" "}
              </span>
            ))}
            <span class="quiet">
              <Coded text={words(shown)} />
            </span>
          </p>
        </>
      )}
    </Card>
  );
}

const HEADLINES = {
  apart: "no_difference",
  overlap: "no_difference",
  no_intervals: "too_few",
  unstable_says: "unstable_pair",
} as const;

/** What an answer rests on. */
function answerOf(seen: Difference, found: boolean): keyof typeof HEADLINES {
  if (found) return "apart";
  if (seen.p50 === "unstable" || seen.p99 === "unstable") return "unstable_says";
  return Object.values(seen).every((one) => one === null) ? "no_intervals" : "overlap";
}

/** What the intervals show, in sentences. */
function better([a, b]: [LaneView, LaneView], seen: Difference): string[] {
  const name = (one: LaneView): string => reliability(one) ?? one.name;
  const said: string[] = [];
  if (seen.delivered === "above") said.push(words("delivers_more", { lane: name(a) }));
  if (seen.delivered === "below") said.push(words("delivers_more", { lane: name(b) }));
  const faster = seen.p99 === "below" || seen.p99 === "above" ? seen.p99 : seen.p50;
  const key = faster === seen.p99 ? "faster_p99" : "faster_p50";
  if (faster === "below") said.push(words(key, { lane: name(a) }));
  if (faster === "above") said.push(words(key, { lane: name(b) }));
  return said;
}

const verdict = computed(() => figures.value?.verdict ?? null);
const DECISIONS = ["SWITCH", "KEEP", "INCONCLUSIVE"] as const;
const TONES = { SWITCH: "bad", KEEP: "good", INCONCLUSIVE: "warn" } as const;

function Http() {
  const said = verdict.value;
  const decision = DECISIONS.find((name) => name === said?.decision);
  const bound = said === null ? null : boundOf(said.reason);
  return (
    <Card
      id="http"
      term="verdict"
      title={words("http")}
      tone={decision === undefined ? "none" : TONES[decision]}
    >
      {said === null ? (
        <Empty>{words(lanes.value.length === 0 ? "none" : "no_verdict")}</Empty>
      ) : (
        <>
          <p class="headline" data-testid="verdict" data-decision={said.decision}>
            {decisionName(said.decision) ?? clip(said.decision, 40)}
          </p>
          {/* All of it can be read: it scrolls, and is explained in full. */}
          <p class="fine-print reason" {...explain("verdict", said.reason)}>
            {decision !== undefined && (
              <b data-testid="certainty">
                <Coded text={words(`certainty_${decision}`)} />{" "}
              </b>
            )}
            {bound !== null && (
              <b data-testid="verdict-bound" lang="en">
                {bound}.{" "}
              </b>
            )}
            <span class="quiet on" data-testid="verdict-reason" lang="en">
              <Coded text={clip(said.reason, 2000)} />
            </span>
          </p>
        </>
      )}
    </Card>
  );
}
