// Bodies of requests and responses: as streams, or as bytes if they are short texts, which save the requests for their
// chunks.
//
// Firefox has neither `request.body` nor streams as the body of a request. There, a body is read in one
// piece, and a request that must carry a stream is given one by `overlay.ts`.

/** A stream, or bytes, that are the body of a message: the engine reads them, not code. */
export class MessageBody {
  readonly content: ReadableStream | Uint8Array<ArrayBuffer>;

  constructor(content: ReadableStream | Uint8Array<ArrayBuffer>) {
    this.content = content;
  }

  /** Undefined if it has its bytes. */
  get stream(): ReadableStream | undefined {
    return this.content instanceof ReadableStream ? this.content : undefined;
  }

  /** Of its bytes, too. */
  toStream(): ReadableStream {
    return this.stream ?? new Response(this.content).body!;
  }
}

/** Longer texts cross as streams, so that an unread body takes no memory on the other side. */
const SHORT_CHARS_MAX = 8192;

/** Of messages that were made of them: a text, which nobody can change, or bytes that nobody else has. */
const contents = new WeakMap<Request | Response, string | Uint8Array<ArrayBuffer>>();

/** Remembers the content of a new message. */
export function noteContent(
  message: Request | Response,
  content: string | Uint8Array<ArrayBuffer>,
): void {
  if (content.length <= SHORT_CHARS_MAX) contents.set(message, content);
}

/** The bytes of a text that is short enough to travel with its message. */
export function shortBytes(text: unknown): Uint8Array<ArrayBuffer> | undefined {
  const isShort = typeof text === 'string' && text.length <= SHORT_CHARS_MAX;
  return isShort ? new TextEncoder().encode(text) : undefined;
}

/** The noted content, which the message has no longer. */
function taken(message: Request | Response): MessageBody | undefined {
  const content = contents.get(message);
  if (content === undefined) return undefined;
  // It counts as read. The method of its class: its own may wait for a gate.
  const { arrayBuffer } = Object.getPrototypeOf(message) as Response;
  arrayBuffer.call(message).catch(() => {});
  return new MessageBody(typeof content === 'string' ? new TextEncoder().encode(content) : content);
}

/** A chunk of a body. Text is sent as UTF-8, and any buffer or view as its bytes, as in workerd. @throws TypeError */
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

/** Streams that came from the other side. In workerd, these give bytes, whatever their chunks were. */
const received = new WeakSet<ReadableStream>();

export function noteReceived(stream: ReadableStream): ReadableStream {
  received.add(stream);
  return stream;
}

export function isReceived(stream: ReadableStream): boolean {
  return received.has(stream);
}

/** The source of a body. */
export interface PulledBytes {
  /** The next chunk; null at the end. */
  next(): Promise<Uint8Array<ArrayBuffer> | null>;
  cancel(reason: unknown): Promise<void>;
}

/** A body that is pulled chunk by chunk. Its readers may bring their buffers; WebKit may have no such streams. */
export function pulledBytes(pulled: PulledBytes): ReadableStream {
  const source = {
    async pull(controller: ReadableByteStreamController | ReadableStreamDefaultController) {
      let chunk = await pulled.next();
      while (chunk?.byteLength === 0) chunk = await pulled.next(); // byte streams take no empty chunk
      if (chunk !== null) {
        controller.enqueue(whole(chunk));
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

/** A byte stream takes the buffer of its chunk away, which others may use. */
function whole(chunk: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return chunk.byteLength < chunk.buffer?.byteLength ? chunk.slice() : chunk;
}

/** The body of a request; null if it has none. @throws TypeError if it was read already */
export function bodyOfRequest(request: Request): MessageBody | null {
  const { body, method } = request as { body?: ReadableStream | null; method: string };
  if (request.bodyUsed || body?.locked) {
    throw new TypeError('The body of the request was read already; pass request.clone().');
  }
  if (body === null) return null;
  const short = taken(request);
  if (short !== undefined) return short;
  if (body !== undefined) return new MessageBody(body);
  return method === 'GET' || method === 'HEAD' ? null : new MessageBody(inOnePiece(request));
}

/** The body of a response; null if it has none. @throws TypeError if it was read already */
export function bodyOfResponse(response: Response): MessageBody | null {
  const { body, bodyUsed } = response;
  if (bodyUsed || body?.locked) {
    throw new TypeError('The body of the response was read already; return response.clone().');
  }
  return body === null ? null : (taken(response) ?? new MessageBody(body));
}

function inOnePiece(request: Request): ReadableStream {
  return new ReadableStream({
    async pull(controller) {
      const bytes = new Uint8Array(await request.arrayBuffer());
      if (bytes.length > 0) controller.enqueue(bytes);
      controller.close();
    },
  });
}

/** The size of a body in bytes; undefined if it is known only once the body has been read. */
export function byteLengthOf(body: BodyInit): number | undefined {
  if (body instanceof ArrayBuffer || ArrayBuffer.isView(body)) return body.byteLength;
  if (body instanceof Blob) return body.size;
  if (body instanceof FormData || body instanceof ReadableStream) return undefined;
  return new TextEncoder().encode(String(body)).byteLength;
}

/** A response that holds the stream, and knows its type for `blob()` and `formData()`. */
export function holderOf(stream: ReadableStream, headers: Headers): Response {
  const type = headers.get('content-type');
  return new Response(stream, type === null ? {} : { headers: { 'content-type': type } });
}

// The global class may be replaced later, by a class that calls this.
const NativeRequest = Request;
let streamsTaken: boolean | undefined;

/** Whether the engine takes a stream as the body of a request. Other engines make it a string. */
export function takesStreams(): boolean {
  streamsTaken ??= probeStreams();
  return streamsTaken;
}

function probeStreams(): boolean {
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
