export const NOW = Date.now();
export const MINUTE = 60_000;
export const at = (minutes: number): number => NOW - minutes * MINUTE;
