// Reads and makes bodies of requests and responses. A body crosses to the other side as a stream, which is pulled chunk by
// chunk; a short text crosses as bytes within its message, which saves these pulls.
//
// Firefox has no `request.body` and accepts no stream as the body of a request. There, a body is read in one piece, and
// `overlay.ts` gives a request the stream that the engine refuses.

/** Marks a stream or bytes as the body of a message, which the engine reads instead of user code. */
export class MessageBody {
  readonly content: ReadableStream | Uint8Array<ArrayBuffer>;

  constructor(content: ReadableStream | Uint8Array<ArrayBuffer>) {
    this.content = content;
  }

  /** The stream; undefined if the body consists of bytes. */
  get stream(): ReadableStream | undefined {
    return this.content instanceof ReadableStream ? this.content : undefined;
  }

  /** Returns the body as a stream, even if it consists of bytes. */
  toStream(): ReadableStream {
    return this.stream ?? new Response(this.content).body!;
  }
}

/**
 * The most characters of a text that crosses as bytes. A longer text crosses as a stream, which takes no memory until
 * it is read.
 */
const SHORT_CHARS_MAX = 8192;

/** The short contents of messages. They cannot change: a string is immutable, and the bytes have no other owner. */
const contents = new WeakMap<Request | Response, string | Uint8Array<ArrayBuffer>>();

/** Remembers the content of a new message. */
export function noteContent(
  message: Request | Response,
  content: string | Uint8Array<ArrayBuffer>,
): void {
  if (content.length <= SHORT_CHARS_MAX) contents.set(message, content);
}

/** Encodes a text that is short enough to cross within its message; undefined for any other value. */
export function shortBytes(text: unknown): Uint8Array<ArrayBuffer> | undefined {
  const isShort = typeof text === 'string' && text.length <= SHORT_CHARS_MAX;
  return isShort ? new TextEncoder().encode(text) : undefined;
}

/** Returns the remembered content, and marks the body of the message as read. */
function takeContent(message: Request | Response): MessageBody | undefined {
  const content = contents.get(message);
  if (content === undefined) return undefined;
  // Reading the body marks it as used. The class's method is called, because the message's own may wait for a gate.
  const { arrayBuffer } = Object.getPrototypeOf(message) as Response;
  arrayBuffer.call(message).catch(() => {});
  return new MessageBody(typeof content === 'string' ? new TextEncoder().encode(content) : content);
}

/** Converts a chunk of a body to bytes: text to UTF-8, a buffer or view to its bytes, as in workerd. @throws TypeError */
export function bytesOf(chunk: unknown): Uint8Array<ArrayBuffer> {
  if (typeof chunk === 'string') return new TextEncoder().encode(chunk);
  if (chunk instanceof ArrayBuffer) return new Uint8Array(chunk);
  if (ArrayBuffer.isView(chunk)) {
    const { buffer, byteOffset, byteLength } = chunk as ArrayBufferView<ArrayBuffer>;
    return new Uint8Array(buffer, byteOffset, byteLength);
  }
  throw new TypeError(
    `This ReadableStream did not return bytes. A chunk of a body is text, a buffer or a view, not ${typeof chunk}.`,
  );
}

/** The streams that were received in a call. In workerd, these give bytes, whatever chunks their sender wrote. */
const received = new WeakSet<ReadableStream>();

export function noteReceived(stream: ReadableStream): ReadableStream {
  received.add(stream);
  return stream;
}

export function isReceived(stream: ReadableStream): boolean {
  return received.has(stream);
}

/** A source that gives the chunks of a body one after the other. */
export interface PulledBytes {
  /** Returns the next chunk; null at the end. */
  next(): Promise<Uint8Array<ArrayBuffer> | null>;
  cancel(reason: unknown): Promise<void>;
}

/** Makes a stream that pulls its chunks from the source: a byte stream, or an ordinary one if WebKit lacks those. */
export function pulledBytes(pulled: PulledBytes): ReadableStream {
  const source = {
    async pull(controller: ReadableByteStreamController | ReadableStreamDefaultController) {
      let chunk = await pulled.next();
      while (chunk?.byteLength === 0) chunk = await pulled.next(); // Byte streams refuse empty chunks.
      if (chunk !== null) {
        controller.enqueue(withOwnBuffer(chunk));
        return;
      }
      controller.close();
      if ('byobRequest' in controller) controller.byobRequest?.respond(0);
    },
    cancel: (reason: unknown) => pulled.cancel(reason),
  };
  const strategy = { highWaterMark: 0 };
  try {
    return new ReadableStream({ ...source, type: 'bytes' }, strategy);
  } catch {
    return new ReadableStream(source, strategy);
  }
}

/** Copies a chunk that is part of a larger buffer, because a byte stream detaches the buffer of each chunk. */
function withOwnBuffer(chunk: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return chunk.byteLength < chunk.buffer?.byteLength ? chunk.slice() : chunk;
}

/** Takes the body of a request; null if it has none. @throws TypeError if it was read already */
export function bodyOfRequest(request: Request): MessageBody | null {
  const { body, method } = request as { body?: ReadableStream | null; method: string };
  if (request.bodyUsed || body?.locked) {
    throw new TypeError('The body of the request was read already; pass request.clone().');
  }
  if (body === null) return null;
  const short = takeContent(request);
  if (short !== undefined) return short;
  if (body !== undefined) return new MessageBody(body);
  return method === 'GET' || method === 'HEAD' ? null : new MessageBody(streamOfWholeBody(request));
}

/** Takes the body of a response; null if it has none. @throws TypeError if it was read already */
export function bodyOfResponse(response: Response): MessageBody | null {
  const { body, bodyUsed } = response;
  if (bodyUsed || body?.locked) {
    throw new TypeError('The body of the response was read already; return response.clone().');
  }
  return body === null ? null : (takeContent(response) ?? new MessageBody(body));
}

function streamOfWholeBody(request: Request): ReadableStream {
  return new ReadableStream({
    async pull(controller) {
      const bytes = new Uint8Array(await request.arrayBuffer());
      if (bytes.length > 0) controller.enqueue(bytes);
      controller.close();
    },
  });
}

/** Returns the size of a body in bytes; undefined if only reading the body would tell it. */
export function byteLengthOf(body: BodyInit): number | undefined {
  if (body instanceof ArrayBuffer || ArrayBuffer.isView(body)) return body.byteLength;
  if (body instanceof Blob) return body.size;
  if (body instanceof FormData || body instanceof ReadableStream) return undefined;
  return new TextEncoder().encode(String(body)).byteLength;
}

/** Wraps the stream in a response with the content type of the headers, which `blob()` and `formData()` need. */
export function holderOf(stream: ReadableStream, headers: Headers): Response {
  const type = headers.get('content-type');
  return new Response(stream, type === null ? {} : { headers: { 'content-type': type } });
}

// This keeps the native class, because the class that later replaces the global one calls `takesStreams`.
const NativeRequest = Request;
let acceptsStreams: boolean | undefined;

/**
 * Returns true if the engine accepts a stream as the body of a request. Other engines convert the stream to a string.
 */
export function takesStreams(): boolean {
  acceptsStreams ??= testStreamBody();
  return acceptsStreams;
}

function testStreamBody(): boolean {
  let isDuplexRead = false;
  const init = {
    method: 'POST',
    body: new ReadableStream(),
    get duplex() {
      isDuplexRead = true;
      return 'half';
    },
  };
  const { headers } = new NativeRequest('http://localhost', init as RequestInit);
  return isDuplexRead && !headers.has('content-type');
}
