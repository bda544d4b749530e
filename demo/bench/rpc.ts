// The thinnest call from a page to a worker: the code of a careful user whose library has only a worker's side.
// One message per call and one per result; no proxy, no promise on the worker's side unless the answer is one.

type Functions = Readonly<Record<string, (...parameters: never[]) => unknown>>;
type Call = readonly [id: number, name: string, parameters: readonly unknown[]];
type Reply = readonly [id: number, result: unknown, fault?: string];

/** In a worker: answers calls of these functions. */
export function answerCalls(functions: Functions): void {
  const reply = (...message: Reply) => self.postMessage(message);
  // The stack begins with the error in Chromium only.
  const fail = (id: number, error: unknown) =>
    reply(id, null, `${error}\n${(error as Error | null)?.stack ?? ''}`);
  self.onmessage = ({ data: [id, name, parameters] }: MessageEvent<Call>) => {
    try {
      const result = functions[name]!(...(parameters as never[]));
      if (!(result instanceof Promise)) return reply(id, result);
      result.then(
        (value) => reply(id, value),
        (error) => fail(id, error),
      );
    } catch (error) {
      fail(id, error);
    }
  };
}

/** On a page: calls the methods that a worker answers. */
export function callsOf(
  worker: Worker,
): (name: string, ...parameters: unknown[]) => Promise<never> {
  let id = 0;
  const pending = new Map<number, PromiseWithResolvers<never>>();
  worker.onmessage = ({ data: [id, result, fault] }: MessageEvent<Reply>) => {
    const { resolve, reject } = pending.get(id)!;
    pending.delete(id);
    if (fault === undefined) resolve(result as never);
    else reject(new Error(fault));
  };
  // A script that does not load gives no message.
  worker.onerror = ({ message = 'its script could not be loaded' }) => {
    for (const { reject } of pending.values()) reject(new Error(`worker: ${message}`));
  };
  return (name, ...parameters) => {
    const call = Promise.withResolvers<never>();
    pending.set(++id, call);
    worker.postMessage([id, name, parameters]);
    return call.promise;
  };
}
