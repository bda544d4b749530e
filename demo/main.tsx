// Starts the demo: shows the page and opens the storage.

import { render } from 'preact';
import { App } from './app.tsx';
import { keepOffline } from './offline/register.ts';
import { connect } from './storage.ts';

render(<App />, document.getElementById('app')!);
void connect();
keepOffline();
