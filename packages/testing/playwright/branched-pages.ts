// Pages of a test that work on a branch: their calls of the object reach the branch in its place.
//
// A script in front of a page's own rewrites the addresses in its messages to the worker; the app and its worker know
// nothing of it. Invariant: a page that has loaded before keeps its own objects, and no other object is touched.

import type { WireAddress } from '@ctx-storage/core/wire';
import type { BrowserContext } from '@playwright/test';
import { HELPER_PATH } from './page/helper-protocol.ts';

interface Branched {
  /** The highest one counts: Playwright runs its scripts in any order. */
  readonly round: number;
  readonly branches: readonly WireAddress[];
}

export class BranchedPages {
  readonly #context: BrowserContext;
  #last: Branched = { round: 0, branches: [] };

  constructor(context: BrowserContext) {
    this.#context = context;
  }

  /** Pages that load from now on reach this branch. Of several of one object, the last one counts. */
  begin(branch: WireAddress): Promise<void> {
    return this.#tell([branch, ...this.#last.branches]);
  }

  /** Pages that load from now on reach the object again. */
  async end(branch: WireAddress): Promise<void> {
    const others = this.#last.branches.filter((other) => other !== branch);
    if (others.length < this.#last.branches.length) await this.#tell(others);
  }

  async #tell(branches: readonly WireAddress[]): Promise<void> {
    this.#last = { round: this.#last.round + 1, branches };
    await this.#context.addInitScript(reachBranches, {
      ...this.#last,
      name: 'ctxStorageTestBranches',
      helperPath: HELPER_PATH,
    });
  }
}

/** In a page, before its first script. It may use nothing but its argument and globals. */
export function reachBranches({
  name,
  helperPath,
  round,
  branches,
}: Branched & { readonly name: string; readonly helperPath: string }): void {
  type Message = readonly unknown[] | { readonly type?: unknown; readonly messages?: unknown };
  if (location.pathname.startsWith(helperPath)) return;
  const scope = globalThis as unknown as Record<string, Branched | undefined>;
  const known = scope[name];
  if (known === undefined || known.round < round) scope[name] = { round, branches };
  if (known !== undefined) return; // the page's messages are rewritten already
  const reached = (target: unknown): unknown => {
    // Of `openStorage`, the name is all that is sent.
    const given = (
      typeof target === 'string' ? { className: null, name: target } : target
    ) as WireAddress;
    const branch = scope[name]!.branches.find(
      ({ className, id, name }) =>
        className === given.className &&
        (given.id === undefined ? name === given.name : id === given.id),
    );
    if (branch === undefined) return target;
    // A branch that the page itself has forked lies on the branch.
    const way = [...branch.branch!, ...(given.branch ?? [])];
    return { ...given, id: branch.id, branch: way };
  };
  const rewritten = (message: Message | null | undefined): unknown => {
    if (typeof message !== 'object' || message === null) return message;
    if (!Array.isArray(message)) {
      const { type, messages } = message as { type?: unknown; messages?: unknown };
      if (type !== 'pack' || !Array.isArray(messages)) return message;
      return { ...message, messages: messages.map(rewritten) };
    }
    if (message.length === 2 && typeof message[0] === 'string') {
      return [message[0], rewritten(message[1])]; // over a channel that has other messages too
    }
    const [number, method, parameters] = message;
    if (message.length !== 3 || !Array.isArray(parameters)) return message;
    const [first, ...rest] = parameters;
    if (method === 'open' || method === 'call') return [number, method, [reached(first), ...rest]];
    if (method !== 'openLive') return message;
    return [number, method, [{ ...first, target: reached(first.target) }, ...rest]];
  };
  for (const { prototype } of [Worker, MessagePort, BroadcastChannel]) {
    const post = prototype.postMessage as (...parameters: unknown[]) => void;
    prototype.postMessage = function (this: unknown, message: Message, ...rest: unknown[]) {
      post.call(this, rewritten(message), ...rest);
    };
  }
}
