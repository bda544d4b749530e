// Entry of the API page: the emulated provider, on any date.

import { render } from 'preact';
import { keepOffline } from '../offline/register.ts';
import { ProviderPanel } from '../panels/provider-panel.tsx';
import { SiteHead } from '../ui/site-head.tsx';

function ApiPage() {
  return (
    <div class="playground">
      <SiteHead current="./api.html" />
      <main>
        <ProviderPanel />
      </main>
    </div>
  );
}

const root = document.getElementById('app')!;
root.replaceChildren();
render(<ApiPage />, root);
keepOffline();
