// A page's side of the election, as data: its states, the events that change them, and the effects that a change asks for.
//
// tab-steps.ts has the transitions.
//
// Does not know locks, channels, workers, nor the time.

import type { Order } from '../../shared/contract/deployment.ts';
import type { StorageMedium } from '../../shared/contract/medium.ts';
import type { ControlMessage } from '../../shared/wire/control.ts';
import type { MachineStep } from '../../shared/wire/machine.ts';

/** A worker of this page. */
export interface TabWorker {
  readonly id: string;
  /** The page can start it again, and may end it. False for a worker that the app started. */
  readonly isSpawned: boolean;
  /** It has said that it runs. */
  readonly hasStarted: boolean;
  /** The search that started it. */
  readonly startedBy: number | null;
}

/** The latest connection, and the worker at its other end. */
export interface TabLink {
  readonly number: number;
  readonly leader: string;
  /** A worker that steps down answers what it was sent, and takes no new work. */
  readonly state: 'open' | 'yielding' | 'failed';
  /** The worker was silent for too long. */
  readonly isSilent: boolean;
}

export interface AskedLeader {
  readonly worker: string;
  readonly connection: number;
  readonly medium: StorageMedium;
}

export interface TabSearch {
  readonly number: number;
  /** The leader of another tab that was asked for a connection and has not answered yet. */
  readonly asked: AskedLeader | null;
  /** The page's own worker cannot be started: the page follows whoever leads. */
  readonly isAlone: boolean;
}

export type TabPhase =
  /** The page is connected, or nobody has asked for a connection. */
  | { readonly kind: 'ready' }
  /** The page takes the lock by which others see that it lives. */
  | { readonly kind: 'entering' }
  | { readonly kind: 'searching'; readonly search: TabSearch }
  /** No leader is searched for any more. */
  | { readonly kind: 'over'; readonly isCleared: boolean; readonly error: Error };

/** The page's part in the line of pages whose workers may rest (reserve.ts). */
export interface Resting {
  /** The line of the page's deployment, if that of the leader it has followed last is the same. */
  readonly line: string | null;
  readonly place: null | 'waiting' | 'first';
  /** The page has ended its worker. */
  readonly isResting: boolean;
}

/** The page's next worker takes the place of the one before, which runs until it has stepped down. */
export interface Succession {
  /** Of the worker before: it is the page's again if the next one cannot lead. */
  readonly wasSpawned: boolean;
}

export interface Tab {
  readonly phase: TabPhase;
  readonly own: TabWorker | null;
  /** The worker before, while the page's next worker takes its place and until that is ended. */
  readonly before: TabWorker | null;
  readonly succession: Succession | null;
  /** The next worker can be started again. */
  readonly isSpawned: boolean;
  readonly link: TabLink | null;
  readonly resting: Resting;
  /** The last number of a search or connection. */
  readonly lastNumber: number;
}

/** A leader in another tab. */
export interface FoundLeader {
  readonly worker: string;
  readonly medium: StorageMedium;
  /** The version of the protocol that both speak, if they do. */
  readonly version: number;
  /** Why this page cannot use it. */
  readonly refusal: Error | null;
}

export type TabEvent =
  /** A connection is needed, and there is none. */
  | { readonly kind: 'wanted' }
  | { readonly kind: 'entered' }
  | { readonly kind: 'refused'; readonly error: Error }
  | { readonly kind: 'spawned'; readonly worker: string }
  /** `isFinal`: the caller's mistake, which another tab cannot mend. */
  | { readonly kind: 'notSpawned'; readonly error: Error; readonly isFinal: boolean }
  /** A worker of this page runs. */
  | { readonly kind: 'started'; readonly worker: string }
  /** A worker of this page leads, and offers a connection. */
  | {
      readonly kind: 'leads';
      readonly worker: string;
      readonly medium: StorageMedium;
      readonly refusal: Error | null;
    }
  /** A worker of this page has compared a leader with itself. `line`: of its deployment, if that is the leader's. */
  | {
      readonly kind: 'judged';
      readonly by: string;
      readonly leader: FoundLeader;
      readonly order: Order;
      readonly line: string | null;
    }
  /** A worker of this page cannot lead. */
  | { readonly kind: 'failed'; readonly worker: string; readonly error: Error }
  /** A worker of this page has ended, or has not started in time. */
  | { readonly kind: 'gone'; readonly worker: string; readonly error: Error }
  /** A worker announces to all pages that it leads. `line`: of its deployment. */
  | { readonly kind: 'announced'; readonly leader: FoundLeader; readonly line: string | null }
  /** The leader that was asked has accepted the connection. */
  | { readonly kind: 'accepted'; readonly connection: number }
  | { readonly kind: 'yields'; readonly link: number }
  /** The worker has not answered for too long. */
  | { readonly kind: 'silent'; readonly link: number }
  | {
      readonly kind: 'lost';
      readonly link: number;
      readonly reason: Error;
      /** The worker has answered a call. */
      readonly hasServed: boolean;
      /** The files were deleted: pages of later cannot meet this one. */
      readonly isCleared: boolean;
    }
  /** Another page says that a worker does not answer. */
  | { readonly kind: 'blamed'; readonly worker: string }
  /** The search has taken too long, or its own worker has failed and nobody else leads. */
  | { readonly kind: 'searchOver'; readonly search: number; readonly error: Error }
  /** Workers that could lead may all be unable to. */
  | { readonly kind: 'wakeDue'; readonly search: number }
  | { readonly kind: 'restartDue' }
  | { readonly kind: 'restDue' }
  /** The page is the first in its line. */
  | { readonly kind: 'first' }
  /** The next worker comes from another source. */
  | { readonly kind: 'exchanged'; readonly isSpawned: boolean }
  /** Another worker, of newer code, shall take the place of the page's worker. */
  | { readonly kind: 'succeeded' }
  /** The worker before does not step down: its code hangs. */
  | { readonly kind: 'successionLate' }
  /** The worker before has had time for its last answers. */
  | { readonly kind: 'beforeDone' }
  /** The page ends its worker. */
  | { readonly kind: 'restarted'; readonly reason: Error }
  | { readonly kind: 'closed'; readonly error: Error };

/** A timer of the same name takes the place of one that runs. */
export type TabTimer = 'search' | 'rest' | 'succession' | null;

export type TabEffect =
  /** A search begins: its promise. */
  | { readonly kind: 'search' }
  /** Takes the page's own lock: `entered` or `refused`. */
  | { readonly kind: 'enter' }
  /** The search has ended. Without an error, it has found the connection. */
  | { readonly kind: 'searched'; readonly error: Error | null }
  /** `medium` absent: as before. */
  | {
      readonly kind: 'stand';
      readonly as: 'connecting' | 'leading' | 'following' | 'lost';
      /** Absent: as before. */
      readonly reason?: Error | null;
      readonly medium?: StorageMedium;
    }
  | { readonly kind: 'outdate' }
  /** `spawned` or `notSpawned`, before the next effect. */
  | { readonly kind: 'spawn' }
  /** Makes the own worker a candidate, or asks it for a connection. */
  | { readonly kind: 'start' }
  /** It reports nothing more; a worker that can be started again is ended. */
  | { readonly kind: 'abandon'; readonly worker: string }
  | { readonly kind: 'terminate'; readonly worker: string }
  /** Ends the own worker unless it answers. */
  | { readonly kind: 'askWhetherSilent' }
  | { readonly kind: 'tell'; readonly message: ControlMessage }
  /** Asks a worker for a connection, and no other any more: `accepted`. */
  | {
      readonly kind: 'ask';
      readonly worker: string;
      readonly connection: number;
      readonly version: number;
    }
  /** The search waits and asks no more. */
  | { readonly kind: 'stopSearch' }
  /** The connection that was accepted or offered is the page's. The lock of another tab's worker is watched: `lost`. */
  | {
      readonly kind: 'connect';
      readonly link: number;
      readonly leader: string;
      /** The own worker has offered it. */
      readonly isOffered: boolean;
    }
  /** The page does not use the connection that its worker offers. */
  | { readonly kind: 'decline' }
  /** The worker of the connection is dead. */
  | { readonly kind: 'failLink'; readonly reason: Error }
  /** Ends the sessions of the connection. One that still answers has a moment for that. */
  | { readonly kind: 'leaveLink'; readonly reason: Error }
  /** The event happens after the delay. */
  | {
      readonly kind: 'after';
      readonly delayMs: number;
      readonly timer: TabTimer;
      readonly event: TabEvent;
    }
  /** The search ends after the delay, with the error of a late one: `searchOver`. */
  | { readonly kind: 'limitSearch'; readonly search: number; readonly waitMs: number }
  | { readonly kind: 'cancel'; readonly timer: TabTimer }
  /** Takes a place in the line: `first`. Null: leaves it. */
  | { readonly kind: 'place'; readonly line: string | null }
  /** Settles the succession. With an error, the next worker's source is not used any more. */
  | { readonly kind: 'settleSuccession'; readonly error: Error | null }
  /** Nothing is heard or told any more. */
  | { readonly kind: 'shut' };

export type TabStep = MachineStep<Tab, TabEffect>;

export function newTab(isSpawned: boolean): Tab {
  return {
    phase: { kind: 'ready' },
    own: null,
    before: null,
    succession: null,
    isSpawned,
    link: null,
    resting: { line: null, place: null, isResting: false },
    lastNumber: 0,
  };
}

export function isConnected({ link }: Tab): boolean {
  return link?.state === 'open';
}

/** The state, once the latest connection has failed. */
export function withoutConnection(state: Tab): Tab {
  const { link } = state;
  return link === null ? state : { ...state, link: { ...link, state: 'failed' } };
}
