// The host of `ctx-storage dev`: it runs a project's app in this process, and serves its objects to the inspector.

import type { EntryHandle } from '@ctx-storage/core/object';
import { installHtmlRewriter } from '@ctx-storage/html-rewriter';
import { createObjects, type NodeOptions } from '@ctx-storage/worker/node';
import { wholeRealm } from '@ctx-storage/worker/realm';
import { hostOf, type PageSocket, type SocketEvents, SocketPages } from '@ctx-storage/worker/start';

export { provideEnv, provideMore } from '@ctx-storage/worker/realm';

/** A running app. */
interface RunningApp {
  readonly worker: EntryHandle;
  /** False while an event, or its `waitUntil`, is under way. */
  readonly isIdle: boolean;
  servePage(socket: PageSocket): SocketEvents;
  close(): Promise<void>;
}

/**
 * Gives Node the globals of workerd, for code that uses them while it is loaded. The returned function takes them back.
 */
export function holdGlobals(): () => void {
  wholeRealm.extend(installHtmlRewriter);
  return wholeRealm.hold();
}

/** Starts an app. @throws the errors of `createObjects` */
export async function startApp(classes: object, options: NodeOptions): Promise<RunningApp> {
  const objects = await createObjects(classes as never, options);
  const pages = new SocketPages(objects);
  const { host, namespaces } = hostOf(objects);
  return {
    worker: objects.worker,
    get isIdle() {
      return host.isQuiet && namespaces.isIdle;
    },
    servePage: (socket) => pages.serve(socket),
    close() {
      pages.close('the app starts again, or the server ends');
      return objects.close();
    },
  };
}
