// The list of a person, on all their devices: what is sent to the server, and what the server has refused.

import { connect, type DurableObjectStub, live } from 'ctx-storage';
import { type FollowRefusal, followed } from 'ctx-storage/follow';
import { useFollowedState } from 'ctx-storage/react';
import { useEffect, useState } from 'react';
import { TodoList } from '../app.tsx';
import { SignIn } from './sign-in.tsx';
import type { TodoObject } from './todo-object.ts';
import { signOut, userName } from './user.ts';

const start = () => new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' });

export async function openFollowed() {
  const name = await userName();
  if (name === undefined) return <SignIn />;
  const { env } = await connect<{ TodoObject: TodoObject }>(start);
  const list = env.TodoObject.getByName(name);
  return (
    <TodoList all={live(list).all()} todos={list}>
      <Sent list={list} />
    </TodoList>
  );
}

const STATES = {
  offline: 'Offline',
  catchingUp: 'Catching up',
  current: 'Up to date',
  outdated: 'New version: load the page again',
  stopped: 'Stopped: load the page again',
};

function Sent({ list }: { list: DurableObjectStub<TodoObject> }) {
  const status = followed(list);
  const state = useFollowedState(status);
  const [refusals, setRefusals] = useState<readonly FollowRefusal[]>([]);
  useEffect(() => {
    status.refusals().then(setRefusals, () => {}); // else at the next change of the state
  }, [status, state]);
  const retry = (refusal: FollowRefusal) => {
    status.retry(refusal).catch(() => {}); // refused again: it stays
  };
  const leave = async () => {
    await signOut(() => status.forget());
    location.reload();
  };
  if (state.reason === 'NOT_AUTHORIZED') return <SignIn />; // the session has ended
  return (
    <>
      <p role="status">
        {STATES[state.state]}
        {state.pending > 0 && `, ${state.pending} to send`}
      </p>
      {state.state === 'current' && state.pending + refusals.length === 0 && (
        <button type="button" onClick={() => void leave()}>
          Sign out
        </button>
      )}
      {refusals.map((refusal) => (
        <p role="alert" key={refusal.n}>
          Refused: {refusal.method} {JSON.stringify(refusal.args)}. {String(refusal.reason)}{' '}
          <button type="button" onClick={() => retry(refusal)}>
            Try again
          </button>{' '}
          <button type="button" onClick={() => void status.dismiss(refusal)}>
            Dismiss
          </button>
        </p>
      ))}
    </>
  );
}
