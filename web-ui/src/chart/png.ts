// A chart as a picture: what an element shows, an SVG or a canvas, on the page's ground and with the
// lanes' names. Nothing is loaded: the SVG goes by a data: address, which the page's
// Content-Security-Policy allows for images.

import { dash, paintOf } from "./tones";

/** What SVG draws by. Inlined as attributes: a style attribute could be refused by the policy. */
const PROPERTIES = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-opacity",
  "stroke-dasharray",
  "stroke-linecap",
  "stroke-linejoin",
  "opacity",
  "color",
  "font-family",
  "font-size",
  "font-weight",
  "font-style",
  "text-anchor",
  "visibility",
  "display",
] as const;

const MARGIN = 12;
const LINE = 18;

/** A PNG of the first SVG chart or canvas in an element, or of the element itself. */
export async function chartPng(element: Element): Promise<Blob> {
  const source = pictureOf(element);
  if (source === null) throw new Error("there is no picture here: no figures have come in yet");
  const { width, height } = source.getBoundingClientRect();
  if (width === 0 || height === 0) throw new Error("the chart isn't shown: it has no size");
  const image =
    source instanceof HTMLCanvasElement ? source : await svgImage(source, width, height);
  const paint = paintOf(element);
  const names = [...element.querySelectorAll<HTMLElement>(".chart-key li")];
  const lines = names.length === 0 ? 0 : rows(names, width);
  // A canvas has the pixels that it has; an SVG may have more than the screen.
  const scale =
    source instanceof HTMLCanvasElement ? source.width / width : Math.max(2, devicePixelRatio);
  const canvas = document.createElement("canvas");
  canvas.width = Math.ceil((width + 2 * MARGIN) * scale);
  canvas.height = Math.ceil((height + 2 * MARGIN + lines * LINE) * scale);
  const ctx = canvas.getContext("2d");
  if (ctx === null) throw new Error("this browser gives no canvas to draw the picture on");
  ctx.scale(scale, scale);
  ctx.fillStyle = paint.panel || "#fff";
  ctx.fillRect(0, 0, canvas.width, canvas.height);
  drawKey(ctx, names, width, paint);
  ctx.drawImage(image, MARGIN, MARGIN + lines * LINE, width, height);
  return await new Promise((resolve, reject) => {
    canvas.toBlob(
      (blob) =>
        blob === null ? reject(new Error("the picture could not be made")) : resolve(blob),
      "image/png",
    );
  });
}

function pictureOf(element: Element): HTMLCanvasElement | SVGSVGElement | null {
  if (element instanceof HTMLCanvasElement || element instanceof SVGSVGElement) return element;
  const canvas = element.querySelector("canvas");
  if (canvas !== null) return canvas;
  return element.querySelector<SVGSVGElement>("svg:not(.key):not(.swatch)");
}

async function svgImage(
  svg: SVGSVGElement,
  width: number,
  height: number,
): Promise<HTMLImageElement> {
  const text = new XMLSerializer().serializeToString(standalone(svg, width, height));
  const image = new Image(width, height);
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  return image;
}

/** A copy that looks the same without the page's style sheets. */
function standalone(svg: SVGSVGElement, width: number, height: number): SVGSVGElement {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const [from, to] = [svg.querySelectorAll("*"), copy.querySelectorAll("*")];
  inline(svg, copy);
  from.forEach((element, i) => {
    const target = to[i];
    if (target !== undefined) inline(element, target);
  });
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", String(width));
  copy.setAttribute("height", String(height));
  return copy;
}

function inline(from: Element, to: Element): void {
  const style = getComputedStyle(from);
  for (const name of PROPERTIES) {
    const value = style.getPropertyValue(name);
    // A pattern's address stays the attribute's: computed, it would have the page's before it.
    if (value !== "" && !value.includes("url(")) to.setAttribute(name, value);
  }
  to.removeAttribute("class");
  to.removeAttribute("style");
}

/** What of the chart's names and figures stands in which place. */
function keyItems(names: readonly HTMLElement[], width: number) {
  let [x, row] = [0, 0];
  return names.map((item) => {
    const text = (item.textContent ?? "").replace(/\s+/g, " ").trim();
    const tone = item.querySelector("[data-tone]")?.getAttribute("data-tone") ?? null;
    const wide = Math.min(width, text.length * 6.6 + (tone === null ? 0 : 28) + 14);
    if (x > 0 && x + wide > width) [x, row] = [0, row + 1];
    const place = { text, tone: tone === null ? null : Number(tone), x, row };
    x += wide;
    return place;
  });
}

function rows(names: readonly HTMLElement[], width: number): number {
  return (keyItems(names, width).at(-1)?.row ?? 0) + 1;
}

function drawKey(
  ctx: CanvasRenderingContext2D,
  names: readonly HTMLElement[],
  width: number,
  paint: ReturnType<typeof paintOf>,
): void {
  ctx.font = `12px ${paint.font}`;
  ctx.textBaseline = "middle";
  for (const { text, tone, x, row } of keyItems(names, width)) {
    const [left, y] = [MARGIN + x, MARGIN + row * LINE + LINE / 2 - 2];
    if (tone !== null) {
      ctx.strokeStyle = paint.tones[tone % paint.tones.length] ?? paint.text;
      ctx.lineWidth = 2;
      ctx.setLineDash([...dash(tone)]);
      ctx.beginPath();
      ctx.moveTo(left, y);
      ctx.lineTo(left + 22, y);
      ctx.stroke();
      ctx.setLineDash([]);
    }
    ctx.fillStyle = tone === null ? paint.quiet : paint.text;
    ctx.fillText(text, left + (tone === null ? 0 : 28), y);
  }
}
