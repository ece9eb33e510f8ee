(() => {
  const words = (it) => it.innerText.split(/\s+/).filter(Boolean).length;
  const main = document.querySelector("main");
  const page = document.documentElement;
  const height = page.scrollHeight, wide = page.scrollWidth - page.clientWidth;
  const figures = [...main.querySelectorAll("figure")].filter((it) => it.querySelector("svg, img"));
  const shown = [...main.querySelectorAll("svg, math, pre")];
  shown.forEach((it) => { it.style.display = "none"; });
  const visible = words(main);
  main.querySelectorAll("details").forEach((it) => { it.open = true; });
  return { words: visible, all: words(main), figures: figures.length,
    tables: main.querySelectorAll("table").length, height, wide };
})()
