// Texts in SVG: how much room they take, as no layout tells before they are drawn.

const WIDE = /[\u1100-\u11ff\u2e80-\ua4cf\uac00-\ud7ff\uf900-\ufaff\uff00-\uff60]/u;
const NARROW = /[ .,:;'|!()[\]fijlrtI\u00a0\u202f·]/u;

/** About how wide a text is in px, rather too wide than too narrow. */
export function textWidth(text: string, size: number): number {
  let width = 0;
  for (const character of text) {
    width += WIDE.test(character) ? 1 : NARROW.test(character) ? 0.36 : 0.6;
  }
  return width * size;
}

/** The text, or its beginning with "…", within `room` px. */
export function shorten(text: string, size: number, room: number): string {
  if (textWidth(text, size) <= room) return text;
  let shown = "";
  for (const character of text) {
    if (textWidth(`${shown}${character}…`, size) > room) break;
    shown += character;
  }
  return `${shown.trimEnd()}…`;
}
