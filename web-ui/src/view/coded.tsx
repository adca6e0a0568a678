// Sentences with commands in them.

/** A text whose parts between backticks are commands. */
export function Coded({ text }: { text: string }) {
  return (
    <>
      {text
        .split("`")
        .map((part, i) => (i % 2 === 0 ? part : <code key={`${i} ${part}`}>{part}</code>))}
    </>
  );
}
