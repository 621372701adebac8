import type { Sample, Variant } from "./bench.ts";

/**
 * Measures every variant once a round. Whatever slows the machine down for a while then slows them
 * all, and the ratio of two measurements of the same round does not show it.
 */
export async function interleave(
  variants: readonly Variant[],
  rounds: number,
  progress: (round: number, variant: Variant) => void,
): Promise<Map<string, Sample[]>> {
  const samples = new Map<string, Sample[]>(variants.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    // Every other round backwards: none has always the same one before it.
    const order = round % 2 === 0 ? variants : variants.toReversed();
    for (const variant of order) {
      progress(round, variant);
      samples.get(variant.name)?.push(await variant.measure());
    }
  }
  return samples;
}
