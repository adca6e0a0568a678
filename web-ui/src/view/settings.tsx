// What runs can be set: rate and payload of the robots, the AI service's time, the network's loss.
// Each has its own state, and the sentence of whoever refuses it.

import { type Signal, signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { type Check, Refusal } from "../check";
import { byBrowser, call, isLocked, token } from "../control/calls";
import { settings as checks } from "../frames";
import type { AiSettings, NetworkSettings, RobotSettings } from "../generated/wire";
import { askFor } from "../remote";
import { config } from "../store";
import { controlWords as words } from "../words/controls";
import { Menu } from "./menu";

/** How one of the three stands. */
type Standing<T> =
  | { readonly kind: "unknown" }
  | { readonly kind: "asking"; readonly value: T | null }
  | { readonly kind: "known"; readonly value: T; readonly set: boolean }
  | { readonly kind: "refused"; readonly why: string; readonly value: T | null };

/** One service whose settings can be asked for and set. */
class Remote<T> {
  readonly standing: Signal<Standing<T>> = signal<Standing<T>>({ kind: "unknown" });
  private readonly check: Check<T>;
  /** Answers may overtake each other: the newest question's counts. */
  private asked = 0;

  constructor(check: Check<T>) {
    this.check = check;
  }

  get value(): T | null {
    const now = this.standing.value;
    return now.kind === "unknown" ? null : now.value;
  }

  async ask(port: number): Promise<void> {
    await this.send(call("GET", port, "/v1/settings"), false);
  }

  async set(port: number, value: T): Promise<void> {
    await this.send(call("PUT", port, "/v1/settings", value), true);
  }

  private async send(what: ReturnType<typeof call>, set: boolean): Promise<void> {
    const before = this.value;
    this.asked += 1;
    const mine = this.asked;
    if (set || before === null) this.standing.value = { kind: "asking", value: before };
    const found = await askFor(what, this.check, byBrowser);
    if (mine !== this.asked) return;
    this.standing.value =
      found instanceof Refusal
        ? { kind: "refused", why: found.reason, value: before }
        : { kind: "known", value: found, set };
  }
}

const ai = new Remote<AiSettings>(checks.ai);
const robots = new Remote<RobotSettings>(checks.robots);
const network = new Remote<NetworkSettings>(checks.network);

function askAll(): void {
  const controls = config.value?.controls;
  if (controls === undefined || isLocked.value) return;
  const { ai_port, robots_port, network_port } = controls;
  if (ai_port !== null) void ai.ask(ai_port);
  if (robots_port !== null) void robots.ask(robots_port);
  if (network_port !== null) void network.ask(network_port);
}

/** The menu; absent where nothing can be set and no token is needed. */
export function Settings() {
  const controls = config.value?.controls;
  if (controls === undefined) return null;
  const { ai_port, robots_port, network_port, token_needed } = controls;
  const nothing = ai_port === null && robots_port === null && network_port === null;
  if (nothing && !token_needed) return null;
  return (
    <Menu id="settings" label={words("settings")} title={words("settings_title")} opened={askAll}>
      {token_needed && <TokenEntry />}
      {nothing && <p class="quiet">{words("nothing_to_set")}</p>}
      {robots_port !== null && <RobotFields port={robots_port} />}
      {ai_port !== null && (
        <Setting
          id="ai"
          remote={ai}
          label={words("ai_time")}
          unit="ms"
          from={0}
          to={3_600_000}
          shown={({ model_ms }) => model_ms}
          set={(model_ms) => void ai.set(ai_port, { model_ms })}
        />
      )}
      {network_port !== null && (
        <Setting
          id="loss"
          remote={network}
          label={words("loss")}
          unit="%"
          from={0}
          to={100}
          shown={({ loss }) => Math.round(loss * 1e6) / 1e4}
          set={(percent) => void network.set(network_port, { loss: percent / 100 })}
        />
      )}
    </Menu>
  );
}

function RobotFields({ port }: { port: number }) {
  // Both are set together: the one that isn't touched keeps its value.
  const now = (): RobotSettings => robots.value ?? { rate_hz: 1, payload_bytes: 0 };
  return (
    <>
      <Setting
        id="rate"
        remote={robots}
        label={words("rate")}
        unit="Hz"
        from={0.01}
        to={10_000}
        shown={({ rate_hz }) => rate_hz}
        set={(rate_hz) => void robots.set(port, { ...now(), rate_hz })}
      />
      <Setting
        id="payload"
        remote={robots}
        label={words("payload")}
        unit="B"
        from={0}
        to={16_777_216}
        whole
        shown={({ payload_bytes }) => payload_bytes}
        set={(payload_bytes) => void robots.set(port, { ...now(), payload_bytes })}
      />
    </>
  );
}

interface SettingProps<T> {
  id: string;
  remote: Remote<T>;
  label: string;
  unit: string;
  from: number;
  to: number;
  whole?: boolean;
  shown: (value: T) => number;
  set: (value: number) => void;
}

/** What was typed wrong, by the field's name. */
const mistakes = signal<Readonly<Record<string, string>>>({});

function Setting<T>(props: SettingProps<T>) {
  const { id, remote, label, unit, from, to, whole = false, shown, set } = props;
  const now = remote.standing.value;
  const value = remote.value;
  const known = value === null ? "" : String(shown(value));
  const mistake = mistakes.value[id];
  const field = useRef<HTMLInputElement | null>(null);
  // Written here instead of by drawing: what is being typed stays until it is answered.
  useLayoutEffect(() => {
    if (field.current !== null) field.current.value = known;
  }, [known]);
  return (
    <form
      class="setting"
      noValidate
      data-testid={`setting-${id}`}
      data-kind={mistake === undefined ? now.kind : "mistaken"}
      onSubmit={(event) => {
        event.preventDefault();
        const typed = field.current?.value.trim() ?? "";
        const wanted = Number(typed);
        const wrong =
          typed === "" ||
          !Number.isFinite(wanted) ||
          wanted < from ||
          wanted > to ||
          (whole && !Number.isInteger(wanted));
        const { [id]: _, ...others } = mistakes.value;
        mistakes.value = wrong ? { ...others, [id]: words("no_number", { from, to }) } : others;
        if (!wrong) set(wanted);
      }}
    >
      <label for={`field-${id}`}>{label}</label>
      <span class="entry">
        <input
          id={`field-${id}`}
          name={id}
          ref={field}
          type="text"
          inputMode="decimal"
          autocomplete="off"
          disabled={isLocked.value || value === null}
          aria-describedby={`said-${id}`}
          aria-invalid={mistake !== undefined}
        />{" "}
        {unit}
      </span>
      <button type="submit" disabled={isLocked.value || value === null}>
        {words("set")}
      </button>
      <Said id={id} mistake={mistake}>
        {standing(now, known, unit)}
      </Said>
    </form>
  );
}

function Said({
  id,
  mistake,
  children,
}: {
  id: string;
  mistake: string | undefined;
  children: ComponentChildren;
}) {
  return (
    <p class="said" id={`said-${id}`} role="status" data-testid={`said-${id}`}>
      {mistake === undefined ? children : <span class="bad">{mistake}</span>}
    </p>
  );
}

function standing(now: Standing<unknown>, known: string, unit: string): ComponentChildren {
  switch (now.kind) {
    case "unknown":
      return isLocked.value ? words("token_missing") : words("asking");
    case "asking":
      return words("sending");
    case "refused":
      return <span class="bad">{now.why}</span>;
    case "known":
      return (
        <span class={now.set ? "fine" : "quiet"}>
          {now.set ? `${words("done")} ✓ ` : ""}
          {words("now_is", { v: `${known}\u00a0${unit}` })}
        </span>
      );
  }
}

function TokenEntry() {
  if (token.value !== null) {
    return (
      <p class="token" data-testid="token-kept">
        {words("token")}: {words("token_kept")}{" "}
        <button
          type="button"
          onClick={() => {
            token.value = null;
          }}
        >
          {words("token_forget")}
        </button>
      </p>
    );
  }
  return (
    <form
      class="token"
      onSubmit={(event) => {
        event.preventDefault();
        const field = event.currentTarget.elements.namedItem("token");
        if (!(field instanceof HTMLInputElement) || field.value === "") return;
        token.value = field.value;
        askAll();
      }}
    >
      <label for="field-token">{words("token")}</label>
      <span class="entry">
        <input
          id="field-token"
          name="token"
          type="password"
          autocomplete="off"
          data-testid="token"
          aria-describedby="said-token"
        />
      </span>
      <button type="submit">{words("token_use")}</button>
      <p class="said quiet" id="said-token">
        {words("token_says")}
      </p>
    </form>
  );
}
