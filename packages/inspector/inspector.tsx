// The root component of the inspector. It decides which object is open, and which of its panels is shown.

import type { ObjectSummary } from '@ctx-storage/core/object';
import type { StorageHandle } from '@ctx-storage/core/storage';
import { type ComponentChildren, Fragment } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { AlarmsPanel } from './alarms-panel.tsx';
import type { DrivenClock } from './clock-time.ts';
import { ConsolePanel } from './console-panel.tsx';
import { FilesPanel } from './files-panel.tsx';
import { KeysPanel } from './keys-panel.tsx';
import { ObjectsPanel } from './objects-panel.tsx';
import type { InspectedObjects, InspectorSource } from './source.ts';
import { TablesPanel } from './tables-panel.tsx';
import { errorText } from './text.ts';
import type { TimelinePanel } from './timeline-panel.tsx';
import { type InspectedBranches, useBranches } from './use-branches.ts';

const PANELS = ['Keys', 'Tables', 'SQL', 'Timeline', 'Alarms', 'Files'] as const;
/** The panels that stay mounted while another panel is shown, because a statement or an import may go on in them. */
const STAYING_PANELS = ['SQL', 'Files'] as const;

type Panel = 'Objects' | (typeof PANELS)[number];

export function Inspector({ source }: { readonly source: InspectorSource }) {
  return 'storage' in source ? (
    <Panels
      storage={source.storage}
      alarms={<AlarmsPanel storage={source.storage} clock={source.clock ?? null} />}
    />
  ) : (
    <ObjectsInspector objects={source.objects} clock={source.clock ?? null} />
  );
}

interface Opened {
  readonly summary: ObjectSummary;
  readonly storage: StorageHandle;
}

interface ObjectsInspectorProps {
  readonly objects: InspectedObjects;
  readonly clock: DrivenClock | null;
}

function ObjectsInspector({ objects, clock }: ObjectsInspectorProps) {
  const [opened, setOpened] = useState<Opened | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => () => void opened?.storage.close(), [opened]);
  const open = async (summary: ObjectSummary) => {
    try {
      const namespace = Reflect.get(objects.env, summary.className);
      const storage = await objects.storage(namespace.get(summary.id));
      setOpened({ summary, storage });
      setProblem(null);
    } catch (error) {
      setProblem(errorText(error));
    }
  };
  const openId = opened === null ? null : String(opened.summary.id);
  return (
    <Panels
      storage={opened?.storage ?? null}
      name={
        opened === null ? null : `${opened.summary.className} ${opened.summary.id.name ?? openId}`
      }
      objects={
        <>
          {problem !== null && <p role="alert">{problem}</p>}
          <ObjectsPanel objects={objects} open={open} openId={openId} />
        </>
      }
      alarms={<AlarmsPanel objects={objects} storage={opened?.storage ?? null} clock={clock} />}
    />
  );
}

interface PanelsProps {
  readonly storage: StorageHandle | null;
  readonly name?: string | null;
  /** The panel of objects, if there are several. */
  readonly objects?: ComponentChildren;
  /** The panel of alarms, which shows the alarms of all objects. */
  readonly alarms: ComponentChildren;
}

function Panels({ storage, name, objects, alarms }: PanelsProps) {
  const panels: readonly Panel[] = objects === undefined ? PANELS : ['Objects', ...PANELS];
  const [panel, setPanel] = useState<Panel>(panels[0]!);
  const [visited, setVisited] = useState<ReadonlySet<Panel>>(new Set());
  const branches = useBranches(storage);
  const branchPath = branches?.names ?? [];
  useEffect(() => setVisited(new Set([...visited, panel])), [panel]);
  const chooseNeighbour = (step: number) => {
    const next = (panels.indexOf(panel) + step + panels.length) % panels.length;
    setPanel(panels[next]!);
  };
  return (
    <>
      <div class="head">
        <div
          class="tabs"
          role="tablist"
          aria-label="Panels"
          onKeyDown={(event) => {
            if (event.key === 'ArrowRight') chooseNeighbour(1);
            else if (event.key === 'ArrowLeft') chooseNeighbour(-1);
            else return;
            const list = event.currentTarget;
            requestAnimationFrame(() => list.querySelector<HTMLElement>('[tabindex="0"]')?.focus());
          }}
        >
          {panels.map((each) => (
            <button
              key={each}
              id={`tab-${each}`}
              type="button"
              role="tab"
              aria-selected={each === panel}
              aria-controls="panel"
              tabIndex={each === panel ? 0 : -1}
              onClick={() => setPanel(each)}
            >
              {each}
            </button>
          ))}
        </div>
        {name != null && <span class="open-name">{name}</span>}
      </div>
      {branchPath.length > 0 && (
        <div class="on-branch actions">
          <span>
            On the branch <strong>{branchPath.join(' › ')}</strong>: all panels show it.
          </span>
          <button type="button" onClick={() => branches?.leave()}>
            Leave the branch
          </button>
        </div>
      )}
      <div class="content" id="panel" role="tabpanel" aria-labelledby={`tab-${panel}`}>
        {panel === 'Objects' && objects}
        {panel === 'Alarms' && alarms}
        {storage === null && panel !== 'Objects' && panel !== 'Alarms' && (
          <p class="panel empty">Open an object in the panel Objects.</p>
        )}
        {branches !== null && (
          <Fragment key={[name, ...branchPath].join('\n')}>
            {STAYING_PANELS.filter((kept) => kept === panel || visited.has(kept)).map((kept) => (
              <div key={kept} class="kept" hidden={kept !== panel}>
                <StoragePanel panel={kept} branches={branches} />
              </div>
            ))}
            {!isOneOf(STAYING_PANELS, panel) && (
              <StoragePanel key={panel} panel={panel} branches={branches} />
            )}
          </Fragment>
        )}
      </div>
    </>
  );
}

function isOneOf(panels: readonly Panel[], panel: Panel): boolean {
  return panels.includes(panel);
}

interface StoragePanelProps {
  readonly panel: Panel;
  readonly branches: InspectedBranches;
}

function StoragePanel({ panel, branches }: StoragePanelProps) {
  const storage = branches.shown;
  switch (panel) {
    case 'Keys':
      return <KeysPanel storage={storage} />;
    case 'Tables':
      return <TablesPanel storage={storage} />;
    case 'SQL':
      return <ConsolePanel storage={storage} />;
    case 'Timeline':
      return <LazyTimeline branches={branches} />;
    case 'Files':
      return <FilesPanel storage={storage} />;
    case 'Objects':
    case 'Alarms':
      return null;
  }
}

/** Shows the timeline, whose code is loaded when it is first shown. */
function LazyTimeline({ branches }: { readonly branches: InspectedBranches }) {
  const [loaded, setLoaded] = useState<{ readonly Panel: typeof TimelinePanel } | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    import('./timeline-panel.tsx').then(
      (module) => setLoaded({ Panel: module.TimelinePanel }),
      (error: unknown) => setProblem(errorText(error)),
    );
  }, []);
  if (loaded !== null) return <loaded.Panel branches={branches} />;
  return (
    <div class="panel">
      {problem === null ? <p class="empty">Reading…</p> : <p role="alert">{problem}</p>}
    </div>
  );
}
