// The page of `tinyjax explain`, in a frame of the playground: its data comes from there.

addEventListener("message", (event) => {
  if (event.source !== parent || event.origin !== location.origin || document.getElementById("data")) return;
  const { name, args, data } = event.data;
  document.querySelector("h1 code").replaceChildren(name, Object.assign(document.createElement("span"), { className: "args", textContent: args }));
  const texts = document.createElement("script"); // JSON, which is never run
  texts.type = "application/json";
  texts.id = "data";
  texts.textContent = data;
  document.body.append(texts);
  const program = document.createElement("script");
  program.src = "explain.js";
  document.body.append(program);
});
parent.postMessage("ready", location.origin);
