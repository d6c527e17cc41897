// Draws what a figure's canvas has been told in `data-plot` (api/pages/plot.py), in the page's own colours: the lines
// and bars have those of the figure's key, whatever the scheme.
import {
  BarController, BarElement, CategoryScale, Chart, LinearScale, LineController, LineElement, PointElement, Tooltip,
} from "chart.js";

Chart.register(BarController, BarElement, CategoryScale, LinearScale, LineController, LineElement, PointElement, Tooltip);
const WIDEST = 36; // characters of a tooltip's line: on a phone, too, a long name is read to its end

function draw(canvas) {
  const plot = JSON.parse(canvas.dataset.plot);
  const soft = colour(canvas, "--soft");
  const line = colour(canvas, "--line");
  const format = new Intl.NumberFormat("en", { maximumSignificantDigits: 4, style: plot.share ? "percent" : "decimal" });
  const said = (value) => format.format(value).replace("-", "−");
  const stacked = plot.kind === "bar";
  const ticks = { color: soft, maxRotation: 0, autoSkipPadding: 10 };
  Chart.getChart(canvas)?.destroy();
  new Chart(canvas, {
    type: plot.kind,
    data: { labels: plot.labels, datasets: datasets(canvas, plot) },
    options: {
      animation: false,
      maintainAspectRatio: false,
      interaction: { mode: "index", intersect: false },
      scales: {
        x: { stacked, ticks, offset: stacked || plot.series.length === 1, grid: { display: false }, border: { display: false } },
        y: {
          stacked, beginAtZero: true, suggestedMax: plot.top ?? undefined, border: { display: false },
          ticks: { ...ticks, maxTicksLimit: 5, callback: said },
          grid: { drawTicks: false, color: ({ tick }) => (tick?.value === 0 ? soft : line) },
        },
      },
      plugins: {
        tooltip: {
          ...cardColours(canvas),
          displayColors: plot.series.length > 1,
          filter: ({ raw }) => !stacked || raw !== 0,
          callbacks: {
            title: ([item]) => (item ? folded(plot.names[item.dataIndex]) : ""),
            label: ({ dataset, parsed }) => ` ${dataset.label}: ${said(parsed.y)}`,
          },
        },
      },
    },
  });
}

function datasets(canvas, { kind, series }) {
  const key = canvas.closest("figure").querySelectorAll(".key > span");
  return series.map(({ name, values }, at) => {
    const own = key[at] ? getComputedStyle(key[at]).backgroundColor : colour(canvas, "--ink");
    const common = { label: name, data: values, backgroundColor: own };
    if (kind === "bar") return { ...common, hoverBackgroundColor: own, maxBarThickness: 46 };
    return {
      ...common, spanGaps: false, clip: false, borderColor: own, borderWidth: 1.8,
      borderDash: at ? [5, 3] : [], // told apart without colours, too
      pointRadius: series.length === 1 || values.length === 1 ? 3.2 : 0,
    };
  });
}

// A custom property may be a light-dark() of two: only as a colour of an element does it become one of them.
function colour(canvas, name) {
  canvas.style.color = `var(${name})`;
  const found = getComputedStyle(canvas).color;
  canvas.style.color = "";
  return found;
}

function cardColours(canvas) {
  const [ink, card] = [colour(canvas, "--ink"), colour(canvas, "--card")];
  return {
    backgroundColor: card, multiKeyBackground: card, borderColor: colour(canvas, "--line"), borderWidth: 1,
    titleColor: ink, bodyColor: ink,
  };
}

const folded = (name) => name.match(new RegExp(`.{1,${WIDEST}}`, "gsu")) ?? [""];

function drawAll() {
  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  for (const canvas of document.querySelectorAll("canvas[data-plot]")) draw(canvas);
}

drawAll();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
