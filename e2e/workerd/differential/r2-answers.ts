// The answers of a bucket as JSON, without what differs each time.

/** The type of values that come from either engine. */
// biome-ignore lint/suspicious/noExplicitAny: the same code meets two engines, without their types
export type Untyped = any;

export const MD5_OF_HELLO = '5d41402abc4b2a76b9719d911017c592';

/** The members of an object; `uploaded` and `version` only as kinds. */
export function factsOf(object: Untyped): unknown {
  if (object === null || object.key === undefined) return object;
  const { key, size, etag, httpEtag, range, httpMetadata, customMetadata, storageClass } = object;
  return {
    key,
    size,
    etag,
    httpEtag,
    range,
    httpMetadata,
    customMetadata,
    storageClass,
    ssecKeyMd5: object.ssecKeyMd5,
    checksums: object.checksums.toJSON(),
    uploaded: [object.uploaded instanceof Date, Date.now() - object.uploaded < 60_000],
    version: /^[0-9a-f]{32}$/.test(object.version),
    body: object.body instanceof ReadableStream,
  };
}

/** The result, or the error. */
export async function told(ask: () => unknown): Promise<Untyped> {
  try {
    return (await ask()) ?? 'nothing';
  } catch (error) {
    const { name, message } = error as Error;
    return { name, message };
  }
}

export function bytesOf(bytes: ArrayBuffer | Uint8Array): number[] {
  return [...new Uint8Array(bytes as ArrayBuffer)];
}

export function firstBytes(hex: string, count: number): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length: count }, (_, i) => Number.parseInt(hex.substr(2 * i, 2), 16));
}

export function sourceOf(...chunks: string[]): ReadableStream {
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(new TextEncoder().encode(chunk));
      controller.close();
    },
  });
}

/** The result of each question. */
export async function answersOf(
  r2: Untyped,
  asks: Readonly<Record<string, (r2: Untyped) => unknown>>,
): Promise<Record<string, unknown>> {
  const answers: Record<string, unknown> = {};
  for (const [what, ask] of Object.entries(asks)) answers[what] = await told(() => ask(r2));
  return answers;
}
