/** Whether a host is one of a pattern: itself, `*.example.com` for all subdomains, `*` for all hosts. */
export function hostFits(pattern: string, host: string): boolean {
  const wanted = pattern.toLowerCase();
  if (wanted === "*" || wanted === host) return true;
  return wanted.startsWith("*.") && host.endsWith(wanted.slice(1));
}
