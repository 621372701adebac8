import type { Sample, Variant } from "./bench.ts";

/**
 * Measures every variant once in each round. A temporary slowdown of the machine then affects all of
 * them, and hardly changes the ratio of two measurements of the same round.
 */
export async function interleave(
  variants: readonly Variant[],
  rounds: number,
  progress: (round: number, variant: Variant) => void,
): Promise<Map<string, Sample[]>> {
  const samples = new Map<string, Sample[]>(variants.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    // Every other round runs backwards, so that no variant always follows the same one.
    const order = round % 2 === 0 ? variants : variants.toReversed();
    for (const variant of order) {
      progress(round, variant);
      samples.get(variant.name)?.push(await variant.measure());
    }
  }
  return samples;
}
