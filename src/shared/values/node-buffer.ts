// Node's Buffer, where there is one.
//
// It writes and reads long strings ten times as fast as the functions of browsers, for characters that are not ASCII. Lone
// surrogates stay as they are. As a value, a Buffer is a view of a pool that it shares with others of the process.

/** The part of a Buffer that is used. On workerd, with `nodejs_compat`, its arguments are mandatory. */
interface StringBuffer {
  latin1Write(text: string, offset: number, length: number): number;
  ucs2Write(text: string, offset: number, length: number): number;
  latin1Slice(start: number, end: number): string;
  ucs2Slice(start: number, end: number): string;
}

interface Runtime {
  readonly process?: { readonly versions?: { readonly node?: string } };
  readonly Buffer?: {
    from(buffer: ArrayBufferLike, at: number, length: number): StringBuffer;
    isBuffer(value: unknown): boolean;
  };
}

// A page may have a Buffer that a bundler has added, which is no faster.
const { process, Buffer } = globalThis as unknown as Runtime;
export const isNode = process?.versions?.node !== undefined;
const NodeBuffer = isNode ? Buffer : undefined;

/** True for Node's Buffer. */
export function isNodeBuffer(view: ArrayBufferView): boolean {
  return NodeBuffer?.isBuffer(view) === true;
}

/** These bytes as a Buffer; undefined outside of Node. */
export function nodeBuffer(
  bytes: Uint8Array,
  at: number,
  length: number,
): StringBuffer | undefined {
  return NodeBuffer?.from(bytes.buffer, bytes.byteOffset + at, length);
}
