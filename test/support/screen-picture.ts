/** The colours of a dark terminal, by the codes of SGR (ECMA-48 § 8.3.117). */
const COLORS: Readonly<Record<number, string>> = {
  31: "#f07178",
  32: "#a5d6a7",
  33: "#e6c07b",
  34: "#82aaff",
  35: "#c792ea",
  36: "#7fdbca",
};
const PAPER = "#16181d";
const INK = "#d8dee9";
const CELL = { width: 8.4, height: 18, margin: 14 };

interface Look {
  color: string;
  bold: boolean;
  dim: boolean;
  italic: boolean;
  underline: boolean;
  inverse: boolean;
}

const PLAIN: Look = {
  color: INK,
  bold: false,
  dim: false,
  italic: false,
  underline: false,
  inverse: false,
};

/** A screen as tmux captures it, with its escape sequences, as a picture. */
export function screenPicture(captured: string): string {
  const lines = captured.trimEnd().split("\n");
  let look = { ...PLAIN };
  let widest = 0;
  const drawn = lines.flatMap((line, row) => {
    let column = 0;
    return line.split(/(ESC\[[\d;]*m)/).flatMap((part) => {
      const codes = /^ESC\[([\d;]*)m$/.exec(part)?.[1];
      if (codes !== undefined) {
        for (const code of codes.split(";")) look = changed(look, Number(code));
        return [];
      }
      if (part === "") return [];
      const at = column;
      column += Array.from(part).length;
      widest = Math.max(widest, column);
      return part.trim() === "" && !look.inverse ? [] : [pieceOf(part, row, at, look)];
    });
  });
  const width = Math.ceil(widest * CELL.width + 2 * CELL.margin);
  const height = lines.length * CELL.height + 2 * CELL.margin;
  const font = `font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14"`;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" ${font}>
<rect width="100%" height="100%" rx="8" fill="${PAPER}"/>
${drawn.join("\n")}
</svg>
`;
}

function changed(look: Look, code: number): Look {
  if (code === 0) return { ...PLAIN };
  if (code === 39) return { ...look, color: INK };
  if (code === 22) return { ...look, bold: false, dim: false };
  const color = COLORS[code];
  if (color !== undefined) return { ...look, color };
  const name = { 1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "inverse" }[code % 20];
  return name === undefined ? look : { ...look, [name]: code < 20 };
}

function pieceOf(text: string, row: number, column: number, look: Look): string {
  const x = (CELL.margin + column * CELL.width).toFixed(1);
  const top = CELL.margin + row * CELL.height;
  const wide = (Array.from(text).length * CELL.width).toFixed(1);
  const style = [
    `fill="${look.inverse ? PAPER : look.color}"`,
    ...(look.bold ? ['font-weight="bold"'] : []),
    ...(look.dim ? ['opacity="0.6"'] : []),
    ...(look.italic ? ['font-style="italic"'] : []),
    ...(look.underline ? ['text-decoration="underline"'] : []),
  ];
  const escaped = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  // Browsers drop other spaces at the ends of a text.
  const said = escaped.replaceAll(" ", "\u00a0");
  const back = `<rect x="${x}" y="${top}" width="${wide}" height="${CELL.height}" fill="${look.color}"/>`;
  const words = `<text x="${x}" y="${top + 13}" textLength="${wide}" ${style.join(" ")}>${said}</text>`;
  return look.inverse ? back + words : words;
}
