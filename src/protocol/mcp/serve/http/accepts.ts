/** Whether an `Accept` header takes a type; how much it likes it is not asked. */
export function accepts(accept: string | undefined, type: string): boolean {
  if (accept === undefined) return false;
  const group = `${type.slice(0, type.indexOf("/"))}/*`;
  return accept.split(",").some((part) => {
    const range = part.split(";", 1)[0]?.trim().toLowerCase();
    return range === type || range === group || range === "*/*";
  });
}
