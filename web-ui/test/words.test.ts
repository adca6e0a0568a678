import { expect, test } from "vitest";
import { words as chartWords, flowName } from "../src/chart/words";
import { controlWords } from "../src/words/controls";
import { language } from "../src/words/language";
import { fateName } from "../src/words/names";
import { panelWords } from "../src/words/panels";
import { terms } from "../src/words/terms";

test("one Korean word a thing: intervals, windows and legs aren't all called the same", () => {
  language.value = "ko";
  expect(panelWords("leg")).toBe("단계");
  expect(terms("leg")).toMatch(/^단계/);
  expect(controlWords("window")).toBe("시간 창");
  expect(terms("window")).toMatch(/^시간 창/);
  expect(terms("ci")).toMatch(/신뢰구간/);
  for (const [fate, name] of [
    ["delivered", "전달됨"],
    ["queue_dropped", "대기열에서 버림"],
    ["lost_in_ros", "ROS에서 손실"],
  ] as const) {
    expect(flowName(fate)).toBe(fateName(fate));
    expect(flowName(fate)).toBe(name);
  }
  expect(flowName("received")).toBe(chartWords("received"));
  expect(chartWords("received")).toBe(panelWords("received"));
  expect(chartWords("painted")).toBe(panelWords("painted"));
  expect(chartWords("reconciles")).toBe(panelWords("reconciles"));
  language.value = "en";
});
