import { expect, test, vi } from 'vitest';
import type { WorkerLike } from '../leader/environment.ts';
import { FirstWorkers } from './first-workers.ts';

class FakeWorker extends EventTarget implements WorkerLike {
  postMessage = vi.fn();
  terminate = vi.fn();
}

test('[START6] a worker that was started ahead is taken once; then another is started', () => {
  const workers = new FirstWorkers();
  const made: FakeWorker[] = [];
  const start = () => {
    made.push(new FakeWorker());
    return made.at(-1)!;
  };
  workers.start('own', start);
  workers.start('own', start);
  expect(made).toHaveLength(1);
  workers.take('own', start).postMessage('hello');
  expect(made[0]!.postMessage).toHaveBeenCalledWith('hello');
  expect(workers.take('own', start)).toBe(made[1]);
});

test('[START6] an error before anybody listened is heard by who takes the worker', async () => {
  const workers = new FirstWorkers();
  const worker = new FakeWorker();
  workers.start('own', () => worker);
  const failure = new Event('error');
  worker.dispatchEvent(failure);
  const heard = vi.fn();
  workers.take('own', () => worker).addEventListener('error', heard);
  await vi.waitFor(() => expect(heard).toHaveBeenCalledExactlyOnceWith(failure));
});

test('[START6] a worker that nobody takes is ended', () => {
  const workers = new FirstWorkers();
  const worker = new FakeWorker();
  workers.start('own', () => worker);
  workers.end('own');
  expect(worker.terminate).toHaveBeenCalledOnce();
  workers.end('own');
  expect(worker.terminate).toHaveBeenCalledOnce();
});

test("[START6] the function's error, or a result that is not a worker, reaches the caller", () => {
  const workers = new FirstWorkers();
  const error = new Error('no worker today');
  workers.start('throws', () => {
    throw error;
  });
  expect(() => workers.take('throws', () => expect.fail('it was called again'))).toThrow(error);
  workers.start('other', () => 'text' as never);
  expect(workers.take('other', () => expect.fail('it was called again'))).toBe('text');
  workers.start('none', () => undefined as never);
  expect(() => workers.end('none')).not.toThrow();
});

test('[START5] a value that can be listened to, and is no worker, reaches the caller as it is', () => {
  const workers = new FirstWorkers();
  const other = new EventTarget() as never;
  workers.start('other', () => other);
  expect(workers.take('other', () => expect.fail('it was called again'))).toBe(other);
});
