// Passes AbortSignals to the other side, which sends a request that is answered when the signal aborts. The abort then
// reaches its code as an event.

import type { Payload } from '../../wire/address.ts';
import type { ReferenceRequest } from '../../wire/protocol.ts';
import type { Party } from '../stubs/party.ts';
import type { Exported, ReferenceChannel } from './channel.ts';
import type { Imported } from './imported.ts';
import { type ReferenceKind, unsupportedRequestError } from './kind.ts';

export const signal: ReferenceKind<AbortSignal> = {
  by: 'reference',
  recognizes: (value) => value instanceof AbortSignal,
  leave: (source, party) => new ExportedSignal(source, party),
  arrive: signalOf,
};

class ExportedSignal implements Exported {
  readonly #signal: AbortSignal;
  readonly #party: Party;
  /** Resolves with true when the signal is aborted, with false when it is released. */
  readonly #aborted: Promise<boolean>;
  #end: () => void = () => {};

  constructor(source: AbortSignal, party: Party) {
    this.#signal = source;
    this.#party = party;
    this.#aborted = new Promise((resolve) => {
      const aborted = () => resolve(true);
      this.#end = () => {
        source.removeEventListener('abort', aborted);
        resolve(false);
      };
      if (source.aborted) aborted();
      else source.addEventListener('abort', aborted, { once: true });
    });
  }

  retain(): () => void {
    return this.#party.io.retain();
  }

  async ask(request: ReferenceRequest, channel: ReferenceChannel): Promise<Payload | null> {
    if (request.op !== 'wait') throw unsupportedRequestError(request);
    if (!(await this.#aborted)) return null;
    return channel.send(channel.draft(this.#signal.reason, this.#party));
  }

  release(): void {
    this.#end();
  }
}

function signalOf(imported: Imported): AbortSignal {
  const controller = new AbortController();
  const { signal: own } = controller;
  imported.hold(own);
  const endUse = imported.holdInUse(own);
  received.set(own, { controller, endUse });
  const held = new WeakRef(controller);
  const enter = imported.party.io.entrance();
  const abort = (reason: unknown) => {
    enter(() => held.deref()?.abort(reason)).catch(() => {}); // The party has ended.
    endUse();
  };
  imported.ask({ op: 'wait' }).then((payload) => {
    if (payload !== null) abort(imported.read(payload));
  }, abort); // A lost connection aborts the signal, too, because the caller is gone.
  return own;
}

/** The controllers of received signals. The WeakMap keeps each controller exactly as long as its signal. */
const received = new WeakMap<
  AbortSignal,
  { readonly controller: AbortController; readonly endUse: () => void }
>();

/**
 * Stops the signal from keeping its object in memory, because the signal's request keeps the object in memory itself.
 */
export function endUseOf(signal: AbortSignal | null): void {
  if (signal !== null) received.get(signal)?.endUse();
}
