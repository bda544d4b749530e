// The list, the form for a new item, and the line that says whether everything is saved.

import type { Live } from 'ctx-storage';
import { useConnectionStatus, useLive, useLiveValue, useUndo } from 'ctx-storage/react';
import { type ReactNode, useMemo, useState } from 'react';
import type { Todo, Todos } from './todos.ts';

export function App({ todos }: { todos: Todos }) {
  const all = useMemo(() => todos.all(), [todos]);
  return (
    <TodoList all={all} todos={todos} undo={useUndo(todos.undoStack)}>
      <Badge todos={todos} />
    </TodoList>
  );
}

interface TodoListProps {
  readonly all: Live<Todo[]>;
  /** What changes the list. */
  readonly todos: Pick<Todos, 'add' | 'setDone' | 'remove'>;
  readonly undo?: { readonly canUndo: boolean; undo(): Promise<unknown> };
  /** Whether it is saved. */
  readonly children: ReactNode;
}

export function TodoList({ all, todos, undo, children }: TodoListProps) {
  const list = useLiveValue(all);
  const isStale = useLive(all).status === 'stale';
  const [text, setText] = useState('');
  const [problem, setProblem] = useState('');

  /** Makes a change, and says so when it failed: then nothing is changed. */
  const change = (made: Promise<unknown>) => {
    setProblem('');
    made.catch((error) => setProblem(String(error)));
  };

  return (
    <main>
      <h1>Todo</h1>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (text.trim() === '') return;
          change(todos.add(text.trim()));
          setText('');
        }}
      >
        <input
          aria-label="New item"
          value={text}
          onChange={({ target }) => setText(target.value)}
        />{' '}
        <button type="submit">Add</button>{' '}
        {undo && (
          <button type="button" disabled={!undo.canUndo} onClick={() => change(undo.undo())}>
            Undo
          </button>
        )}
      </form>
      <ul aria-busy={isStale}>
        {list.map((todo) => (
          <Item key={todo.id} todo={todo} todos={todos} change={change} />
        ))}
      </ul>
      {problem !== '' && <p role="alert">{problem}</p>}
      {children}
    </main>
  );
}

interface ItemProps {
  readonly todo: Todo;
  readonly todos: TodoListProps['todos'];
  readonly change: (made: Promise<unknown>) => void;
}

function Item({ todo, todos, change }: ItemProps) {
  return (
    <li>
      <label>
        <input
          type="checkbox"
          checked={todo.done === 1}
          onChange={({ target }) => change(todos.setDone(todo, target.checked))}
        />{' '}
        <span>{todo.text}</span>
      </label>
      <button type="button" onClick={() => change(todos.remove(todo))}>
        Delete
      </button>
    </li>
  );
}

function Badge({ todos }: { todos: Todos }) {
  const { state, stateReason, pendingWrites, savedAt } = useConnectionStatus(todos.storage);
  if (state === 'lost') return <p role="status">Not connected: {stateReason?.message}</p>;
  if (pendingWrites > 0) return <p role="status">Saving …</p>;
  const time = savedAt === null ? '' : ` at ${new Date(savedAt).toLocaleTimeString()}`;
  return <p role="status">Saved{time}</p>;
}
