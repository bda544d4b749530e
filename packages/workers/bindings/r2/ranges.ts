// The range of bytes of an object that a caller asks for, as options or as the header `Range`.

/** A range as the caller gives it. */
export type WantedRange =
  | { readonly offset?: number; readonly length?: number; readonly suffix?: number }
  | { readonly header: string };

/** A range of bytes that exists in an object. */
export interface ByteRange {
  readonly offset: number;
  readonly length: number;
}

/** Returns the wanted bytes of an object of `size` bytes, or undefined if it has none of them. */
export function resolveRange(wanted: WantedRange | undefined, size: number): ByteRange | undefined {
  const whole = { offset: 0, length: size };
  if (wanted === undefined) return whole;
  // A header is ignored, and the whole object returned, if it cannot be satisfied or names several ranges.
  if ('header' in wanted) return parseRangeHeader(wanted.header, size) ?? whole;
  const { suffix } = wanted;
  if (suffix === 0) return undefined;
  const start = suffix === undefined ? (wanted.offset ?? 0) : Math.max(0, size - suffix);
  const length = Math.min(wanted.length ?? size, size - start);
  return start > size || length <= 0 ? undefined : { offset: start, length };
}

function parseRangeHeader(header: string, size: number): ByteRange | undefined {
  const [unit, wanted, ...others] = header.split('=').map((part) => part.trim());
  if (unit!.toLowerCase() !== 'bytes' || wanted === undefined || others.length > 0)
    return undefined;
  const [first, last, ...more] = wanted.split('-').map((part) => part.trim());
  if (last === undefined || more.length > 0 || /\D/.test(first! + last)) return undefined;
  if (first === '') {
    const length = Number(last);
    return last === '' || length === 0 || length >= size
      ? undefined
      : { offset: size - length, length };
  }
  const offset = Number(first);
  const end = last === '' ? size - 1 : Number(last);
  if (offset > end || offset >= size) return undefined;
  return { offset, length: Math.min(end + 1, size) - offset };
}
