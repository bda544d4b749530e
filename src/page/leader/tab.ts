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
  /** True if the page can start the worker again, and may end it. False for a worker that the app started. */
  readonly isSpawned: boolean;
  /** True once the worker has reported that it runs. */
  readonly hasStarted: boolean;
  /** The number of the search that started the worker. */
  readonly startedBy: number | null;
}

/** The latest connection, and the worker at its other end. */
export interface TabLink {
  readonly number: number;
  readonly leader: string;
  /**
   * The state of the connection. While it is `yielding`, its worker steps down: it answers the calls that it has
   * received, and takes no new ones.
   */
  readonly state: 'open' | 'yielding' | 'failed';
  /** True if the worker was silent for too long. */
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
  /** If true, the page's own worker cannot be started, and the page follows any leader. */
  readonly isAlone: boolean;
}

export type TabPhase =
  /** The page is connected, or nobody has asked for a connection. */
  | { readonly kind: 'ready' }
  /** The page takes the lock that shows others that the page lives. */
  | { readonly kind: 'entering' }
  | { readonly kind: 'searching'; readonly search: TabSearch }
  /** The search for leaders has ended for good. */
  | { readonly kind: 'over'; readonly isCleared: boolean; readonly error: Error };

/** The page's part in the line of pages whose workers may rest (reserve.ts). */
export interface Resting {
  /**
   * The line of the page's deployment, if the leader that the page followed last is of that deployment; otherwise null.
   */
  readonly line: string | null;
  readonly place: null | 'waiting' | 'first';
  /** True if the page has ended its worker. */
  readonly isResting: boolean;
}

/** The replacement of the page's worker by its next one. The previous worker runs until it has stepped down. */
export interface Succession {
  /**
   * True if the previous worker can be started again. It becomes the page's worker again if the next one cannot lead.
   */
  readonly wasSpawned: boolean;
}

export interface Tab {
  readonly phase: TabPhase;
  readonly own: TabWorker | null;
  /** The previous worker, from the start of the next one until the previous one has ended. */
  readonly before: TabWorker | null;
  readonly succession: Succession | null;
  /** True if the page's worker can be started again. */
  readonly isSpawned: boolean;
  readonly link: TabLink | null;
  readonly resting: Resting;
  /** The number that was last given to a search or connection. */
  readonly lastNumber: number;
}

/** A leader in another tab. */
export interface FoundLeader {
  readonly worker: string;
  readonly medium: StorageMedium;
  /** The version of the protocol that the leader and this page share; meaningless if `refusal` is set. */
  readonly version: number;
  /** The reason why this page cannot use the leader; null if it can. */
  readonly refusal: Error | null;
}

export type TabEvent =
  /** A connection is needed, and there is none. */
  | { readonly kind: 'wanted' }
  | { readonly kind: 'entered' }
  | { readonly kind: 'refused'; readonly error: Error }
  | { readonly kind: 'spawned'; readonly worker: string }
  /** No worker could be started. `isFinal` means a mistake of the caller, which no other tab can mend. */
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
  /** A worker of this page has compared a leader with itself. `line` is set if both are of the same deployment. */
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
  /** A worker announces to all pages that it leads. `line` is the line of its deployment. */
  | { readonly kind: 'announced'; readonly leader: FoundLeader; readonly line: string | null }
  /** The leader that was asked has accepted the connection. */
  | { readonly kind: 'accepted'; readonly connection: number }
  | { readonly kind: 'yields'; readonly link: number }
  /** The worker of the connection has not answered for too long. */
  | { readonly kind: 'silent'; readonly link: number }
  | {
      readonly kind: 'lost';
      readonly link: number;
      readonly reason: Error;
      /** True if the worker has answered a call on this connection. */
      readonly hasServed: boolean;
      /** True if the files were deleted: pages that open later do not share a leader with this one. */
      readonly isCleared: boolean;
    }
  /** Another page reports that a worker does not answer. */
  | { readonly kind: 'blamed'; readonly worker: string }
  /** The search has taken too long, or the page's worker has failed and no other worker leads. */
  | { readonly kind: 'searchOver'; readonly search: number; readonly error: Error }
  /** No worker has led for a while, so a resting page starts its worker again. */
  | { readonly kind: 'wakeDue'; readonly search: number }
  | { readonly kind: 'restartDue' }
  | { readonly kind: 'restDue' }
  /** The page is the first in its line. */
  | { readonly kind: 'first' }
  /** The page's next worker will be started from another source. */
  | { readonly kind: 'exchanged'; readonly isSpawned: boolean }
  /** A worker with newer code shall replace the page's worker. */
  | { readonly kind: 'succeeded' }
  /** The previous worker has not stepped down in time: its code hangs. */
  | { readonly kind: 'successionLate' }
  /** The time for the last answers of the previous worker is over. */
  | { readonly kind: 'beforeDone' }
  /** The page ends its worker. */
  | { readonly kind: 'restarted'; readonly reason: Error }
  | { readonly kind: 'closed'; readonly error: Error };

/** The name of a timer. Starting a timer stops the running one of the same name. */
export type TabTimer = 'search' | 'rest' | 'succession' | null;

export type TabEffect =
  /** Makes the promise of a new search. */
  | { readonly kind: 'search' }
  /** Takes the page's own lock; the event `entered` or `refused` follows. */
  | { readonly kind: 'enter' }
  /** Settles the promise of the search. Without an error, the search has found the connection. */
  | { readonly kind: 'searched'; readonly error: Error | null }
  /** Reports the connection status. If `medium` is absent, the medium does not change. */
  | {
      readonly kind: 'stand';
      readonly as: 'connecting' | 'leading' | 'following' | 'lost';
      /** If absent, the reason does not change. */
      readonly reason?: Error | null;
      readonly medium?: StorageMedium;
    }
  | { readonly kind: 'outdate' }
  /** Starts a worker; the event `spawned` or `notSpawned` follows before the next effect. */
  | { readonly kind: 'spawn' }
  /** Makes the own worker a candidate, or asks it for a connection. */
  | { readonly kind: 'start' }
  /** Ignores all further reports of this worker, and ends it if it can be started again. */
  | { readonly kind: 'abandon'; readonly worker: string }
  | { readonly kind: 'terminate'; readonly worker: string }
  /** Ends the own worker unless it answers. */
  | { readonly kind: 'askWhetherSilent' }
  | { readonly kind: 'tell'; readonly message: ControlMessage }
  /** Asks a worker for a connection, and forgets earlier requests; the event `accepted` follows. */
  | {
      readonly kind: 'ask';
      readonly worker: string;
      readonly connection: number;
      readonly version: number;
    }
  /** Stops asking workers for a connection; the search waits. */
  | { readonly kind: 'stopSearch' }
  /**
   * Uses the accepted or offered connection. If the worker is another tab's, watches its lock; the event `lost` follows
   * when it is released.
   */
  | {
      readonly kind: 'connect';
      readonly link: number;
      readonly leader: string;
      /** True if the own worker has offered the connection. */
      readonly isOffered: boolean;
    }
  /** Refuses the connection that the own worker offers. */
  | { readonly kind: 'decline' }
  /** Fails the connection, because its worker is dead. */
  | { readonly kind: 'failLink'; readonly reason: Error }
  /** Ends the sessions of the connection, a moment later if it still delivers answers. */
  | { readonly kind: 'leaveLink'; readonly reason: Error }
  /** Raises the event after the delay. */
  | {
      readonly kind: 'after';
      readonly delayMs: number;
      readonly timer: TabTimer;
      readonly event: TabEvent;
    }
  /** Limits the search; the event `searchOver` ends it after the delay, with the error of a search that took too long. */
  | { readonly kind: 'limitSearch'; readonly search: number; readonly waitMs: number }
  | { readonly kind: 'cancel'; readonly timer: TabTimer }
  /** Takes a place in the line; the event `first` follows when all others have left it. With null, leaves the line. */
  | { readonly kind: 'place'; readonly line: string | null }
  /** Settles the succession. With an error, the next worker's source is not used any more. */
  | { readonly kind: 'settleSuccession'; readonly error: Error | null }
  /** Stops listening to other tabs, and sends nothing more to them. */
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
