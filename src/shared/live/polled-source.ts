// A live read of an object that lives elsewhere: opened there, asked for its next result again and again, and
// opened again when its instance or its worker has ended.
//
// Invariant: it reports a result, an error or its end, and never stays silent: a read that failed twice in a
// row without a result in between is reported as an error, and is tried again, less and less often. Losses of the worker or
// of the instance may follow each other, as tabs are closed: they are reported after half a minute without a result. A
// branch that has ended is the end of its reads.

import type { CallFlags } from '../contract/call-flag.ts';
import type { StorageError } from '../contract/errors.ts';
import { fromWire } from '../wire/errors-on-wire.ts';
import type { LiveNumber, LivePeer, LiveStart } from '../wire/protocol.ts';
import type { LiveSink, LiveSource } from './live-value.ts';

/** Where live reads are opened. */
export interface LivePeers {
  /** Absent where the objects run in the same thread. */
  readonly flags?: CallFlags;
  /** The one to ask now. */
  peer(): Promise<LivePeer>;
  /** Why nothing can be asked any more; undefined: it can. */
  readonly end: Error | undefined;
  /** Calls `told` when that comes, unless the result is called before. */
  whenEnded(told: () => void): () => void;
  /** Runs the task after the delay. */
  after(delayMs: number, task: () => void): () => void;
}

/** The first pause between two attempts, which doubles, and the longest. */
const PAUSE_MS = 50;
const PAUSE_MS_MAX = 5000;

/** How many losses in a row are borne: the pauses between them add up to 31 s. */
const LOSSES_MAX = 13;

const MOVED = Symbol('moved');

/** `signal` ends it, with its reason. */
export function polledSource(peers: LivePeers, start: LiveStart, signal?: AbortSignal): LiveSource {
  return (sink) => {
    if (signal?.aborted) {
      sink.ended(signal.reason);
      return () => {};
    }
    const poll = new Poll(peers, start, sink, signal);
    void poll.run();
    return () => poll.stop();
  };
}

class Poll {
  readonly #peers: LivePeers;
  readonly #start: LiveStart;
  readonly #sink: LiveSink;
  #open: { readonly peer: LivePeer; readonly number: LiveNumber } | undefined;
  /** The worker had opened the live read at the last attempt, before that failed. */
  #wasOpened = false;
  #failures = 0;
  #isStopped = false;
  #forget: () => void = () => {};
  /** Listens to the signal no more. */
  readonly #unwatch: () => void;

  constructor(peers: LivePeers, start: LiveStart, sink: LiveSink, signal?: AbortSignal) {
    this.#peers = peers;
    this.#sink = sink;
    if (signal === undefined) {
      this.#start = start;
      this.#unwatch = () => {};
      return;
    }
    const aborted = () => {
      this.stop();
      sink.ended(signal.reason);
    };
    const flagged = peers.flags?.begin(signal, aborted);
    if (flagged === undefined) signal.addEventListener('abort', aborted);
    this.#start = flagged === undefined ? start : { ...start, flag: flagged.flag };
    this.#unwatch = () => {
      flagged?.end();
      signal.removeEventListener('abort', aborted);
    };
  }

  async run(): Promise<void> {
    this.#forget = this.#peers.whenEnded(() => this.#end());
    while (!this.#isStopped) {
      if (this.#peers.end !== undefined) return this.#end();
      const error = await this.#follow();
      if (this.#isStopped) return;
      if (this.#peers.end !== undefined || error === MOVED) continue;
      const { code, retryable } = Object(error) as Partial<StorageError>;
      // No other branch ever has its address.
      if (code === 'BRANCH_ENDED') return this.#end(error);
      this.#failures += 1;
      if (this.#failures === 1) continue;
      // The read may be fine: who was asked is gone, and not by the object's own code.
      const isLoss =
        code === 'CONNECTION_CLOSED' ||
        (code === 'OBJECT_RESET' && retryable === true) ||
        (code === 'DISK_FULL' && this.#wasOpened); // a write was refused: reads need no room
      if (!isLoss || this.#failures > LOSSES_MAX) this.#sink.failed(error);
      await this.#pause();
    }
  }

  stop(): void {
    this.#isStopped = true;
    this.#unwatch();
    this.#forget();
    this.#close();
  }

  #end(reason: unknown = this.#peers.end): void {
    this.stop();
    this.#sink.ended(reason);
  }

  /** Reports results until the live read has ended; returns why, or that it has moved. */
  async #follow(): Promise<unknown> {
    this.#wasOpened = false;
    try {
      const peer = await this.#peers.peer();
      if (this.#isStopped) return undefined;
      const opened = await peer.openLive(this.#start);
      if ('error' in opened) return fromWire(opened.error);
      this.#open = { peer, number: opened.ok };
      this.#wasOpened = true;
      while (!this.#isStopped) {
        const outcome = await peer.nextLive(opened.ok);
        if (this.#isStopped) break;
        if ('ok' in outcome) {
          this.#failures = 0;
          this.#sink.result(outcome.ok);
        } else if (outcome.isEnded === true) {
          this.#open = undefined;
          return outcome.isMoved === true ? MOVED : fromWire(outcome.error);
        } else {
          this.#failures = 0;
          this.#sink.failed(fromWire(outcome.error));
        }
      }
      this.#close();
      return undefined;
    } catch (error) {
      this.#open = undefined; // the connection has ended, and everything on it
      return error;
    }
  }

  #close(): void {
    const open = this.#open;
    this.#open = undefined;
    open?.peer.closeLive(open.number).catch(() => {}); // it ended with its connection
  }

  #pause(): Promise<void> {
    const pauseMs = Math.min(PAUSE_MS * 2 ** (this.#failures - 2), PAUSE_MS_MAX);
    return new Promise((resolve) => void this.#peers.after(pauseMs, resolve));
  }
}
