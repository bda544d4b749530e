// Entry of the todo app: opens the object, brings its table into shape, and shows it.

import { openStorage } from 'ctx-storage';
import { migrate } from 'ctx-storage/migrate';
import { StrictMode, Suspense } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';
import { ErrorBoundary } from './error-boundary.tsx';
import { MIGRATIONS, Todos } from './todos.ts';

const root = createRoot(document.getElementById('app')!);
try {
  // The build keeps one of them.
  const app =
    import.meta.env.MODE === 'follow'
      ? await (await import('./follow/app.tsx')).openFollowed()
      : await openHere();
  root.render(
    <StrictMode>
      <ErrorBoundary>
        <Suspense fallback={<p>Loading</p>}>{app}</Suspense>
      </ErrorBoundary>
    </StrictMode>,
  );
} catch (error) {
  root.render(<p role="alert">The list cannot be opened. {String(error)}</p>);
}

// Not awaited: the app does not depend on it. In development, there is no list of files.
if (import.meta.env.PROD) void navigator.serviceWorker?.register('./service-worker.js');

async function openHere() {
  // Early: the list of the last visit is shown while the worker is still loading.
  const storage = await openStorage('todos', {
    early: true,
    prepare: (opened) => migrate(opened, MIGRATIONS),
  });
  return <App todos={new Todos(storage)} />;
}
