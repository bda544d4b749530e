// Opens the document that a stranger's code runs in, with its worker, and calls the worker for the page.
//
// Invariant: the frame has no origin (`sandbox` without `allow-same-origin`) and a policy without network, which its
// worker inherits. The page calls the worker and is called by nobody. A message out of bounds closes the sandbox;
// closing it removes the frame, which ends the worker, closes the port, and fails every call under way, all before it
// returns.

import type { ConsoleEntry } from '../../packages/entries/connect-source.ts';
import type { Calls, Failure, Target } from '../playground/calls.ts';
import type { ObjectTime, Reading } from '../playground/object-time.ts';
import type { SharedData } from '../playground/shared-data.ts';
import {
  Intake,
  Overrun,
  readAnswer,
  readClasses,
  readLines,
  readTarget,
  type SandboxAsk,
  type SandboxMessage,
} from './messages.ts';
import { readBookmark, readMade, readPast } from './reading.ts';
import { readTime } from './shape.ts';

interface Follower {
  hear(reading: Reading): void;
  onError(error: unknown): void;
}

/** Receives the messages that the sandbox sends without being asked. */
export interface SandboxListener {
  hearConsole(entry: ConsoleEntry): void;
  /** Is called when the sandbox has been closed because of a message of its code. */
  hearEnd(reason: Error): void;
}

interface Waiting {
  /** @throws Overrun */
  resolve(value: unknown): void;
  reject(error: Error): void;
}

const nothing = () => {};

export class Sandbox {
  readonly calls: Calls;
  readonly #frame = document.createElement('iframe');
  readonly #port: MessagePort;
  readonly #intake = new Intake(() => performance.now());
  readonly #waiting = new Map<number, Waiting>();
  readonly #listener: SandboxListener;
  #end: Error | null = null;
  #lastId = 0;
  #hearSocket: (line: string) => void = () => {};
  #follower: Follower | null = null;

  constructor(workerText: string, wasm: ArrayBuffer, listener: SandboxListener) {
    const { port1, port2 } = new MessageChannel();
    this.#listener = listener;
    this.#port = port1;
    this.#port.onmessage = ({ data }) => this.#hear(data);
    this.calls = this.#callsOf();
    const frame = this.#frame;
    frame.setAttribute('sandbox', 'allow-scripts');
    frame.title = 'Sandbox';
    frame.hidden = true;
    frame.src = new URL('sandbox.html', document.baseURI).href;
    frame.addEventListener(
      'load',
      // The target is `*`, because the frame has no origin that could be named.
      () => frame.contentWindow!.postMessage({ workerText, wasm }, '*', [port2]),
      { once: true },
    );
    document.body.append(frame);
  }

  /** Loads the code and resolves to the names of its classes. */
  load(files: Readonly<Record<string, string>>, data: SharedData | null): Promise<string[]> {
    return this.#ask('load', [files, data], readClasses);
  }

  /** Returns the history of an object. Only the object that was asked for last is followed. */
  time(target: Target): ObjectTime {
    return {
      follow: (hear, onError) => {
        const follower: Follower = { hear, onError };
        this.#follower = follower;
        this.#ask('follow', [target], nothing).catch(onError);
        return () => {
          if (this.#follower !== follower) return;
          this.#follower = null;
          // The error of an ended sandbox does not matter, because it follows nothing any more.
          this.#ask('unfollow', [], nothing).catch(nothing);
        };
      },
      at: (bookmark) => this.#ask('at', [bookmark], readPast),
      restore: (bookmark) => this.#ask('restore', [bookmark], readBookmark),
      revert: (bookmark) => this.#ask('revert', [bookmark], readMade),
    };
  }

  close(reason = new Error('The code was stopped.')): void {
    if (this.#end !== null) return;
    this.#end = reason;
    this.#port.onmessage = null;
    this.#port.close();
    this.#frame.remove();
    for (const { reject } of this.#waiting.values()) reject(reason);
    this.#waiting.clear();
  }

  #callsOf(): Calls {
    return {
      call: (...given) => this.#ask('call', given, readAnswer),
      fetch: (...given) => this.#ask('fetch', given, readAnswer),
      openSocket: (target, url, hear) => {
        this.#hearSocket = hear;
        return this.#ask('openSocket', [target, url], readAnswer);
      },
      send: (text) => this.#ask('send', [text], nothing),
      objects: (classNames) => this.#ask('objects', [classNames], readLines),
      now: () => this.#ask('now', [], readTime),
      advance: (durationMs) => this.#ask('advance', [durationMs], nothing),
      runNextAlarm: () =>
        this.#ask('runNextAlarm', [], (ran) => (ran === null ? null : readTarget(ran))),
      resume: () => this.#ask('resume', [], nothing),
    };
  }

  #ask<T>(name: string, args: readonly unknown[], read: (value: unknown) => T): Promise<T> {
    if (this.#end !== null) return Promise.reject(this.#end);
    this.#lastId += 1;
    const ask: SandboxAsk = { id: this.#lastId, name, args };
    return new Promise<T>((resolve, reject) => {
      this.#waiting.set(ask.id, { resolve: (value) => resolve(read(value)), reject });
      this.#port.postMessage(ask);
    });
  }

  #hear(data: unknown): void {
    try {
      this.#take(this.#intake.read(data));
    } catch (error) {
      if (!(error instanceof Overrun)) throw error;
      const reason = new Error(`The code was stopped. ${error.message}`);
      this.close(reason);
      this.#listener.hearEnd(reason);
    }
  }

  #take(message: SandboxMessage): void {
    switch (message.type) {
      case 'console':
        this.#listener.hearConsole(message.entry);
        break;
      case 'socket':
        this.#hearSocket(message.line);
        break;
      case 'reading':
        this.#follower?.hear(message.reading);
        break;
      case 'unread':
        this.#follower?.onError(errorOf(message.failure));
        break;
      case 'answer':
        this.#waiting.get(message.id)?.resolve(message.value);
        this.#waiting.delete(message.id);
        break;
      case 'failed': {
        this.#waiting.get(message.id)?.reject(errorOf(message.failure));
        this.#waiting.delete(message.id);
      }
    }
  }
}

function errorOf({ code, message, stack }: Failure): Error {
  const error = Object.assign(new Error(message), { code });
  error.stack = stack;
  return error;
}
