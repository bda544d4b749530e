// A host whose answers wait until its files are known to still exist.
//
// Does not know files: the watch is passed in. `ask` and `release` are about references, so their
// answers do not depend on anything stored.

import type { Pace } from '../../src/rpc/channel-endpoint.ts';
import { type Outcome, toWire } from '../../src/rpc/errors-on-wire.ts';
import type { LiveService } from '../../src/rpc/live-protocol.ts';
import type { Notices } from '../../src/rpc/notices.ts';
import type { ObjectsService } from '../../src/rpc/object-protocol.ts';
import type { StorageService } from '../../src/rpc/protocol.ts';
import type { WorkerService } from '../../src/rpc/worker-end.ts';

/** The part of file/clearance-watch that is used. */
export interface Watch {
  /** Resolves to the reason when the files are gone, or cannot be reached any more. */
  readonly cleared: Promise<Error>;
  /**
   * Does the work; its result itself if that is there, and the files were seen lately.
   *
   * @throws the reason, as a rejection, when the files are gone
   */
  during<T>(work: () => T | Promise<T>): T | Promise<T>;
}

/** How the host behind the services ends. */
export interface HostLife {
  readonly isQuiet: boolean;
  rest(): void;
  close(fact: string): Promise<void>;
  /** What every page is told. */
  readonly notices: Notices;
  readonly pace: Pace;
}

export function watchedHost(
  host: StorageService,
  objects: ObjectsService,
  live: LiveService,
  watch: Watch,
  life: HostLife,
): WorkerService {
  const guard = async <T>(work: () => Promise<Outcome<T>>): Promise<Outcome<T>> => {
    try {
      return await watch.during(work);
    } catch (error) {
      return { error: toWire(error) };
    }
  };
  return {
    lost: watch.cleared,
    notices: life.notices,
    pace: life.pace,
    get isQuiet() {
      return life.isQuiet;
    },
    rest: () => life.rest(),
    end: (fact) => life.close(fact),
    open: (target) => guard(() => host.open(target)),
    // If it rejects, the error is the outcome of each call.
    execute: (session, calls) => watch.during(() => host.execute(session, calls)),
    ...(host.cancel && { cancel: (flags) => host.cancel!(flags) }),
    close: (session) => host.close(session),
    objects: {
      connect(peer) {
        const connection = objects.connect(peer);
        return {
          ...connection,
          // A watch lasts for as long as the object does; it tells nothing of what is stored.
          call: (address, request) =>
            request.op === 'watch'
              ? connection.call(address, request)
              : guard(() => connection.call(address, request)),
          manage: (request) => guard(() => connection.manage(request)),
        };
      },
    },
    live: {
      connect() {
        const connection = live.connect();
        return {
          ...connection,
          openLive: (start) => guard(() => connection.openLive(start)),
          // It may wait for hours; the files are looked for when there is a result.
          async nextLive(number) {
            const outcome = await connection.nextLive(number);
            return guard(async () => outcome);
          },
        };
      },
    },
  };
}
