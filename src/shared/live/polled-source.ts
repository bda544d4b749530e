// Performs a live read of an object in another thread or tab: opens the read there, asks for its next result again and
// again, and reopens it after the object's instance or worker has ended.
//
// Invariant: a result, an error or the end is always reported. A read that fails twice in a row is reported as failed, and
// retried with growing pauses. Losses of the worker or instance can follow each other while tabs are closed, so they are
// reported only after half a minute without a result. The end of a branch ends its reads.

import type { CallFlags } from '../contract/call-flag.ts';
import type { StorageError } from '../contract/errors.ts';
import { fromWire } from '../wire/errors-on-wire.ts';
import type { LiveNumber, LivePeer, LiveStart } from '../wire/protocol.ts';
import type { LiveSink, LiveSource } from './live-value.ts';

/** Finds the peer that serves the object, and tells when no peer ever will. */
export interface LivePeers {
  /** The flags that cancel reads in the worker. Absent if the objects run in this thread. */
  readonly flags?: CallFlags;
  /** Returns the peer that currently serves the object. */
  peer(): Promise<LivePeer>;
  /** The reason why the connection is closed for ever; undefined while it is open. */
  readonly end: Error | undefined;
  /** Calls `told` when `end` is set. Call the result to unsubscribe. */
  whenEnded(told: () => void): () => void;
  /** Runs the task after the delay. */
  after(delayMs: number, task: () => void): () => void;
}

/** The first pause between two attempts. The pause doubles with each attempt, up to the maximum below. */
const PAUSE_MS = 50;
const PAUSE_MS_MAX = 5000;

/** The number of losses in a row that are not reported. The pauses between them add up to 31 s. */
const LOSSES_MAX = 13;

const MOVED = Symbol('moved');

/** Makes the source of a live read. Aborting the signal ends it with the reason. */
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
  /** True if the worker had opened the read in the last attempt, before the attempt failed. */
  #wasOpened = false;
  #failures = 0;
  #isStopped = false;
  #forget: () => void = () => {};
  /** Stops listening to the signal. */
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
      // The address of a branch is never used again, so retrying is useless.
      if (code === 'BRANCH_ENDED') return this.#end(error);
      this.#failures += 1;
      if (this.#failures === 1) continue;
      // A loss says nothing about the read: the peer is gone, for a reason other than the object's code.
      const isLoss =
        code === 'CONNECTION_CLOSED' ||
        (code === 'OBJECT_RESET' && retryable === true) ||
        (code === 'DISK_FULL' && this.#wasOpened); // a failed write closed the object, and reads need no space
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

  /** Reports results until the read ends. Returns the reason, or MOVED if the object has moved to another worker. */
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
      this.#open = undefined; // The connection has ended, and with it everything that was open on it.
      return error;
    }
  }

  #close(): void {
    const open = this.#open;
    this.#open = undefined;
    open?.peer.closeLive(open.number).catch(() => {}); // The connection has ended, and with it the read.
  }

  #pause(): Promise<void> {
    const pauseMs = Math.min(PAUSE_MS * 2 ** (this.#failures - 2), PAUSE_MS_MAX);
    return new Promise((resolve) => void this.#peers.after(pauseMs, resolve));
  }
}
