// Implements the cheapest call from a page to a worker, as a careful user would whose library runs only in a worker.
// A call is one message and its result another; there is no proxy, and no promise in the worker unless a method
// returns one.

type Functions = Readonly<Record<string, (...parameters: never[]) => unknown>>;
type Call = readonly [id: number, name: string, parameters: readonly unknown[]];
type Reply = readonly [id: number, result: unknown, fault?: string];

/** Answers, in a worker, the calls of these functions. */
export function answerCalls(functions: Functions): void {
  const reply = (...message: Reply) => self.postMessage(message);
  // Only Chromium puts the error's message at the head of the stack.
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

/** Returns, on a page, an object whose methods call those that a worker answers. */
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
  // The event of a script that does not load has no message.
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
