// A WebSocket of a client that may break every rule of RFC 6455: it sends frames as they are given, and may stop to read.
//
// It asks for no compression. Its masks are zero, which the RFC allows, so that frames need not be copied to be masked.
// This file does not know the messages.

import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';

/** The opcodes of frames (RFC 6455, 5.2). */
export const OPCODE = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

export interface Frame {
  readonly opcode: number;
  /** False if more frames of the same message follow. @default true */
  readonly isLast?: boolean;
  /** A client must mask its frames. @default true */
  readonly isMasked?: boolean;
  /** The length that the frame claims to have. @default that of its content */
  readonly claimedBytes?: number;
}

export interface RawSocketEvents {
  opened(): void;
  /** A message has come. */
  received(data: Buffer, opcode: number): void;
  /** The connection has ended: with the code of the server's close, 1006 without one, or the status of a refused handshake. */
  closed(code: number): void;
}

/** The code of a connection that ended without a close. */
const LOST = 1006;

export class RawSocket {
  readonly #socket: Socket;
  readonly #events: RawSocketEvents;
  #arrived: Buffer = Buffer.alloc(0);
  #isOpen = false;
  #isClosed = false;
  #code = LOST;

  constructor(url: URL, protocol: string, events: RawSocketEvents) {
    this.#events = events;
    this.#socket = connect({ port: Number(url.port), host: url.hostname, noDelay: true });
    const lines = [
      `GET ${url.pathname}${url.search} HTTP/1.1`,
      `Host: ${url.host}`,
      'Connection: Upgrade',
      'Upgrade: websocket',
      `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}`,
      'Sec-WebSocket-Version: 13',
      `Sec-WebSocket-Protocol: ${protocol}`,
    ];
    this.#socket.write(`${lines.join('\r\n')}\r\n\r\n`);
    this.#socket.on('data', (data) => this.#take(data));
    this.#socket.on('error', () => {}); // The event `close` follows.
    this.#socket.on('close', () => this.#close(this.#code));
  }

  get isOpen(): boolean {
    return this.#isOpen && !this.#isClosed;
  }

  send(content: Uint8Array | string, frame: Frame): void {
    const bytes = typeof content === 'string' ? Buffer.from(content) : content;
    this.#socket.write(headOf(bytes.length, frame));
    this.#socket.write(bytes);
  }

  /** Sends bytes that need not be frames. */
  sendRaw(bytes: Uint8Array): void {
    this.#socket.write(bytes);
  }

  /** The bytes that the server has not taken. */
  get unsentBytes(): number {
    return this.#socket.writableLength;
  }

  stopReading(): void {
    this.#socket.pause();
  }

  /** Ends the connection without a word. */
  destroy(): void {
    this.#socket.destroy();
  }

  #take(data: Buffer): void {
    this.#arrived = this.#arrived.length === 0 ? data : Buffer.concat([this.#arrived, data]);
    if (!this.#isOpen && !this.#takeHandshake()) return;
    for (let frame = frameIn(this.#arrived); frame !== null; frame = frameIn(this.#arrived)) {
      this.#arrived = this.#arrived.subarray(frame.end);
      const { opcode, content } = frame;
      if (opcode === OPCODE.close) {
        this.#code = content.length < 2 ? LOST : content.readUInt16BE(0);
        this.#socket.end(headOf(0, { opcode: OPCODE.close }));
      } else if (opcode === OPCODE.text || opcode === OPCODE.binary) {
        this.#events.received(content, opcode);
      }
    }
  }

  /** Returns true once the server has accepted the handshake. */
  #takeHandshake(): boolean {
    const end = this.#arrived.indexOf('\r\n\r\n');
    if (end < 0) return false;
    const [, status] = this.#arrived.toString('latin1', 0, end).split(' ');
    this.#arrived = this.#arrived.subarray(end + 4);
    if (status !== '101') {
      this.#code = Number(status);
      this.#socket.destroy();
      return false;
    }
    this.#isOpen = true;
    this.#events.opened();
    return true;
  }

  #close(code: number): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#events.closed(code);
  }
}

/** Returns the first frame of the bytes, which the server has not masked; null if it has not come whole. */
function frameIn(bytes: Buffer) {
  if (bytes.length < 2) return null;
  const opcode = bytes[0]! & 15;
  let length = bytes[1]! & 127;
  let start = 2;
  if (length === 126) {
    if (bytes.length < 4) return null;
    length = bytes.readUInt16BE(2);
    start = 4;
  } else if (length === 127) {
    if (bytes.length < 10) return null;
    length = Number(bytes.readBigUInt64BE(2));
    start = 10;
  }
  const end = start + length;
  return bytes.length < end ? null : { opcode, content: bytes.subarray(start, end), end };
}

function headOf(contentBytes: number, frame: Frame): Buffer {
  const { opcode, isLast = true, isMasked = true, claimedBytes = contentBytes } = frame;
  const short = claimedBytes < 126 ? claimedBytes : claimedBytes < 65_536 ? 126 : 127;
  const lengthBytes = short === 126 ? 2 : short === 127 ? 8 : 0;
  const head = Buffer.alloc(2 + lengthBytes + (isMasked ? 4 : 0));
  head[0] = (isLast ? 128 : 0) | opcode;
  head[1] = (isMasked ? 128 : 0) | short;
  if (lengthBytes === 2) head.writeUInt16BE(claimedBytes, 2);
  if (lengthBytes === 8) head.writeBigUInt64BE(BigInt(claimedBytes), 2);
  return head;
}
