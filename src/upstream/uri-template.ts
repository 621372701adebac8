/** Whether URIs could have been made from a template (RFC 6570). */
export function templatePattern(template: string): RegExp {
  const parts = template.split(/(\{[^{}]*\})/);
  const pattern = parts.map((part) =>
    part.startsWith("{") && part.endsWith("}")
      ? expression(part.slice(1, -1))
      : RegExp.escape(part),
  );
  return new RegExp(`^${pattern.join("")}$`);
}

/** What may stand where an expression stood. */
function expression(text: string): string {
  switch (text.charAt(0)) {
    case "+":
    case "#":
      return ".+";
    case "?":
    case "&":
    case ";":
      return "[^/]*";
    case "/":
      return text.endsWith("*") ? "(?:/[^/?#]+)*" : "(?:/[^/?#]+)?".repeat(text.split(",").length);
    case ".":
      return "(?:\\.[^/?#]+)?";
    default:
      return "[^/?#]+";
  }
}
