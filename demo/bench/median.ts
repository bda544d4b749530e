// Computes the median of several measurements, which one slow round does not move.

/** Returns the median: the higher of the two middle values if their number is even, NaN if there are no values. */
export function median(values: readonly number[]): number {
  return [...values].sort((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;
}
