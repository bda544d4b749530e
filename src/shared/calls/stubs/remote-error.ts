// Completes errors that were thrown on the other side, as workerd does: marks them as `remote`, and adds the object's id
// and the caller's stack frames.

/** Marks an error of the other side. A value that is not an object stays as it is. */
export function remoteError(thrown: unknown): unknown {
  if (isObject(thrown)) define(thrown, 'remote', true, true);
  return thrown;
}

/**
 * Appends the caller's waiting async functions to the stack of an error of the other side. Call it after the error has
 * passed the caller's gates, because V8 does not see the functions behind them. `id` is that of the called object.
 */
export function withCallers(error: unknown, id?: string): unknown {
  if (!isObject(error) || Reflect.get(error, 'remote') !== true) return error;
  if (id !== undefined) define(error, 'durableObjectId', id, true);
  const { stack }: { stack?: unknown } = error;
  const frames = waitingFrames();
  if (typeof stack === 'string' && frames.length > 0) {
    define(error, 'stack', [stack.trimEnd(), ...frames].join('\n'));
  }
  return error;
}

/** Returns the stack frames of the async functions that wait for the running one; none in engines that do not know them. */
function waitingFrames(): string[] {
  const site: { stack?: string } = {};
  (Error as StackCapturing).captureStackTrace?.(site, withCallers);
  const lines = (site.stack ?? '').trimEnd().split('\n');
  // V8 writes a line with the error above the frames. The first frame is that of the caller of withCallers().
  const hasHeadline = lines[1]?.trimStart().startsWith('at ') === true;
  return lines.slice(hasHeadline ? 2 : 1);
}

interface StackCapturing {
  captureStackTrace?(target: object, below: Function): void;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function define(target: object, name: string, value: unknown, enumerable = false): void {
  Object.defineProperty(target, name, { value, enumerable, writable: true, configurable: true });
}
