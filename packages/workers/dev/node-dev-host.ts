// The host of `ctx-storage dev`: a project's app in this process, and pages that look into it.

import type { EntryHandle } from '../../../src/shared/contract/service.ts';
import { wholeRealm } from '../../../worker/realm/modules/whole-realm.ts';
import { createObjects, type NodeOptions } from '../../../worker/start/entries/node-objects.ts';
import { hostOf } from '../../../worker/start/entries/object-tools.ts';
import {
  type PageSocket,
  type SocketEvents,
  SocketPages,
} from '../../../worker/start/entries/socket-pages.ts';
import { installHtmlRewriter } from '../../html-rewriter/html-rewriter.ts';

export { provideEnv, provideMore } from '../../../worker/realm/library/provided-env.ts';

/** A running app. */
interface RunningApp {
  readonly worker: EntryHandle;
  /** False while an event goes on, or anything that it waits for. */
  readonly isIdle: boolean;
  servePage(socket: PageSocket): SocketEvents;
  close(): Promise<void>;
}

/** Replaces globals for code that uses them while it is loaded; the result ends that. */
export function holdGlobals(): () => void {
  wholeRealm.extend(installHtmlRewriter);
  return wholeRealm.hold();
}

/** @throws as `createObjects` */
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
